// Pictures in which there is nothing to find.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "models/train/windows.h"

namespace cuface::train {

struct BackgroundOptions {
  WindowSize size;
  bool skip_bad = false;  ///< as SampleOptions has it
  int threads = 0;
  /// Pictures are kept decoded as far as they fit; the others are decoded again for each stage.
  std::size_t memory = std::size_t{1} << 30;
  std::size_t most_notes = 10;  ///< as SampleOptions has it
};

/// The pictures of a folder, of a list of paths, or of a .vec file. All are decoded once when it is
/// opened, so that what does not decode is known before hours have gone.
class Backgrounds {
 public:
  /// `positives` are hash_of() pictures with what is to be found, and what names them: one of these
  /// among the backgrounds is an error. kCancelled once `stop` is raised.
  static Result<std::unique_ptr<Backgrounds>> open(
      const std::string& path, const BackgroundOptions& options,
      const std::map<std::uint64_t, std::string>& positives, const StopFlag* stop = nullptr);

  std::size_t count() const { return entries_.size(); }
  const std::string& name(std::size_t i) const { return entries_[i].name; }
  /// Of all pictures: which they are, in which order.
  std::uint64_t hash() const { return hash_; }
  double pixels() const { return pixels_; }  ///< of all together
  const std::vector<std::string>& notes() const { return notes_; }

  /// Whether picture() gives the same memory each time.
  bool is_kept(std::size_t i) const { return entries_[i].kept != nullptr; }
  /// kIo where the picture is no longer what it was. Thread-safe.
  Result<std::shared_ptr<const Image<std::uint8_t>>> picture(std::size_t i);

 private:
  struct Entry {
    std::string name;
    std::uint64_t hash = 0;
    std::shared_ptr<const Image<std::uint8_t>> kept;
  };

  Backgrounds() = default;
  Status add_vec(const std::string& path, const BackgroundOptions& options);
  Status add_pictures(const std::string& path, const BackgroundOptions& options,
                      const std::map<std::uint64_t, std::string>& positives, const StopFlag* stop);
  void add(std::string name, std::uint64_t hash, Image<std::uint8_t> grey);
  void note_useless();

  std::vector<Entry> entries_;
  std::vector<std::string> notes_;
  std::unordered_set<std::uint64_t> seen_;
  std::size_t copies_ = 0, grey_ = 0;
  std::size_t memory_ = 0;  ///< left for pictures
  std::uint64_t hash_ = 0;
  double pixels_ = 0;
};

}  // namespace cuface::train
