#include "models/train/windows.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "kernels/boost/feature_bank.h"
#include "kernels/cascade/cascade.h"
#include "kernels/cascade/evaluate.h"
#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "models/file_bytes.h"
#include "models/output_file.h"

namespace cuface::train {
namespace {

// The head of a .vec file: two 32-bit numbers, how many windows and pixels of each, and two unused
// words of 16 bits. Then for each window a byte 0 and 16 bits a pixel. All little-endian.
constexpr std::size_t kHeadBytes = 12, kMostVecBytes = std::size_t{1} << 32;

std::size_t bytes_of_window(std::size_t pixels) { return 1 + 2 * pixels; }

}  // namespace

Status check_window_size(const WindowSize& size) {
  for (const int side : {size.width, size.height}) {
    if (side < kMinWindowSide || side > kMostTrainingSide) {
      return {StatusCode::kInvalidArgument, "--size must be " + std::to_string(kMinWindowSide) +
                                                " to " + std::to_string(kMostTrainingSide) +
                                                " pixels a side, as in 24x24"};
    }
  }
  return {};
}

void WindowList::add(ImageView<const std::uint8_t> picture, int x, int y) {
  for (int row = 0; row < size_.height; ++row) {
    const std::uint8_t* from = picture.row(y + row) + x;
    pixels_.insert(pixels_.end(), from, from + size_.width);
  }
}

std::vector<std::uint8_t> mirrored(std::span<const std::uint8_t> window, const WindowSize& size) {
  std::vector<std::uint8_t> out(window.begin(), window.end());
  for (int y = 0; y < size.height; ++y) {
    std::reverse(out.begin() + y * size.width, out.begin() + (y + 1) * size.width);
  }
  return out;
}

bool is_flat(std::span<const std::uint8_t> window, const WindowSize& size) {
  double sum = 0;
  std::uint32_t squares = 0;
  for (int y = 1; y < size.height - 1; ++y) {
    for (int x = 1; x < size.width - 1; ++x) {
      const std::uint32_t v = window[static_cast<std::size_t>(y * size.width + x)];
      sum += v;
      squares += v * v;
    }
  }
  return inverse_norm((size.width - 2) * (size.height - 2), sum, squares) == 0.0f;
}

bool is_vec_file(const std::string& path) {
  return std::filesystem::path(path).extension() == ".vec";
}

Result<WindowList> read_vec(const std::string& path, const WindowSize& size) {
  return guarded(path, [&]() -> Result<WindowList> {
    CUFACE_TAKE(opened, ModelFile::open(path));
    CUFACE_TAKE(file, opened.read(kMostVecBytes));
    const std::span<const std::uint8_t> bytes = file->bytes();
    std::int32_t head[2] = {};
    if (bytes.size() >= kHeadBytes) std::memcpy(head, bytes.data(), sizeof head);
    const std::size_t count = static_cast<std::size_t>(std::max(head[0], 0));
    const std::size_t pixels = static_cast<std::size_t>(std::max(head[1], 0));
    if (count == 0 || pixels == 0 || count > kMostVecBytes ||
        bytes.size() - kHeadBytes != count * bytes_of_window(pixels)) {
      return Status(StatusCode::kCorrupt,
                    path + ": not OpenCV's .vec file, or one that was cut: it has " +
                        std::to_string(bytes.size()) + " bytes, its head says " +
                        std::to_string(head[0]) + " windows of " + std::to_string(head[1]) +
                        " pixels");
    }
    if (pixels != size.pixels()) {
      return Status(StatusCode::kUnsupported,
                    path + ": its windows have " + std::to_string(pixels) + " pixels, " +
                        std::to_string(size.width) + "x" + std::to_string(size.height) + " has " +
                        std::to_string(size.pixels()) + "; give their size with --size");
    }
    WindowList windows(size);
    std::vector<std::uint8_t> window(pixels);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t* from = bytes.data() + kHeadBytes + i * bytes_of_window(pixels) + 1;
      for (std::size_t p = 0; p < pixels; ++p) {
        if (from[2 * p + 1] != 0) {
          return Status(StatusCode::kCorrupt, path + ": window " + std::to_string(i) +
                                                  " has a pixel that is not between 0 and 255");
        }
        window[p] = from[2 * p];
      }
      windows.add(window);
    }
    return windows;
  });
}

Status write_vec(const WindowList& windows, const std::string& path) {
  const std::size_t pixels = windows.size().pixels();
  std::vector<std::uint8_t> bytes(kHeadBytes + windows.count() * bytes_of_window(pixels));
  const std::int32_t head[2] = {static_cast<std::int32_t>(windows.count()),
                                static_cast<std::int32_t>(pixels)};
  std::memcpy(bytes.data(), head, sizeof head);
  for (std::size_t i = 0; i < windows.count(); ++i) {
    std::uint8_t* to = bytes.data() + kHeadBytes + i * bytes_of_window(pixels) + 1;
    const std::span<const std::uint8_t> window = windows.at(i);
    for (std::size_t p = 0; p < pixels; ++p) to[2 * p] = window[p];
  }
  return replace_file(path, {std::as_bytes(std::span<const std::uint8_t>(bytes))});
}

}  // namespace cuface::train
