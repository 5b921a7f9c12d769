// Grey windows of one size in memory, and OpenCV's files of them (.vec).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/common/status.h"

namespace cuface::train {

struct WindowSize {
  int width = 24, height = 24;
  std::size_t pixels() const {
    return static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  }
  friend bool operator==(const WindowSize&, const WindowSize&) = default;
};

/// kInvalidArgument where no detector can have such windows.
Status check_window_size(const WindowSize& size);

/// One behind the other, row after row.
class WindowList {
 public:
  explicit WindowList(WindowSize size) : size_(size) {}

  const WindowSize& size() const { return size_; }
  std::size_t count() const { return pixels_.size() / size_.pixels(); }
  std::span<const std::uint8_t> at(std::size_t i) const {
    return {pixels_.data() + i * size_.pixels(), size_.pixels()};
  }
  std::span<const std::uint8_t> pixels() const { return pixels_; }
  void add(std::span<const std::uint8_t> window) {
    pixels_.insert(pixels_.end(), window.begin(), window.end());
  }
  /// The window of that size at (x,y) of a picture that it lies in.
  void add(ImageView<const std::uint8_t> picture, int x, int y);
  void clear() { pixels_.clear(); }
  void reserve(std::size_t windows) { pixels_.reserve(windows * size_.pixels()); }

 private:
  WindowSize size_;
  std::vector<std::uint8_t> pixels_;
};

/// A copy, mirrored left to right.
std::vector<std::uint8_t> mirrored(std::span<const std::uint8_t> window, const WindowSize& size);

/// Of so little contrast that no detector evaluates it (kernels/cascade/evaluate.h).
bool is_flat(std::span<const std::uint8_t> window, const WindowSize& size);

bool is_vec_file(const std::string& path);  ///< by its name
/// kCorrupt, kUnsupported where the windows have another size, as far as the file tells.
Result<WindowList> read_vec(const std::string& path, const WindowSize& size);
Status write_vec(const WindowList& windows, const std::string& path);

}  // namespace cuface::train
