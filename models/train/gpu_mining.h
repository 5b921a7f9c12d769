// Looking for negatives on a GPU: all windows of a picture that pass the stages so far.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cascade/cascade.h"
#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"

namespace cuface::train {

/// A picture to search, from pixel (dx, dy) on.
struct SearchTask {
  ImageView<const std::uint8_t> picture;   ///< in host memory; not read with `generated`
  bool stays = false;                      ///< there, with these pixels, for as long as GpuMining
  std::optional<std::uint64_t> generated;  ///< instead: the number of such a picture
  int dx = 0, dy = 0;
  double factor = 1.1;  ///< between sizes of windows
};

struct SearchedPicture {
  /// False where the GPU cannot search a picture of this size: for the CPU then.
  bool is_searched = false;
  bool too_many = false;             ///< pass, more than kMaxRawWindows: `boxes` has none
  std::int64_t windows = 0;          ///< looked at
  std::vector<Rect> boxes;           ///< as Searcher::search() has them, in any order
  std::vector<std::uint8_t> pixels;  ///< of the boxes' windows in their levels, or none
  /// The picture, where it was generated and has boxes without pixels; only the rows that they lie
  /// in.
  Image<std::uint8_t> generated;
};

/// Serves one thread at a time, which need not always be the same.
class GpuMining {
 public:
  virtual ~GpuMining() = default;
  /// Searches that begin from now on are with this cascade; those that have begun and not ended are
  /// dropped. Memory is kept from one to the next.
  virtual void use(std::shared_ptr<const CascadeModel> model) = 0;
  /// Begins to search the pictures, each as the CPU's Searcher does, and returns while the GPU is
  /// at it. The pictures are read before that. kCancelled once `stop` is raised: a search that
  /// could not begin has no end.
  virtual Status begin(std::span<const SearchTask> tasks, const StopFlag* stop) = 0;
  /// Waits for the search that began first among those that have not ended. There has to be one.
  virtual Status end(std::vector<SearchedPicture>& found) = 0;
};

/// On the current GPU. `seed` is that of generated pictures. kUnsupported with what CUDA says, or
/// without CUDA in this build; kOutOfDeviceMemory.
Result<std::unique_ptr<GpuMining>> make_gpu_mining(std::uint64_t seed);
using GpuMiningMaker = std::function<decltype(make_gpu_mining)>;

}  // namespace cuface::train
