// Verifying followed faces on CUDA: what the CPU's Detector does with DetectConfig::verify.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cascade/cascade.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/detect/cuda/upright.h"
#include "kernels/detect/detect.h"
#include "kernels/detect/verify.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/faces/followed_cuda.h"

namespace cuface::cuda {

/// Those to verify, and where.
struct ChosenFaces {
  std::int32_t count;  ///< 0 = nothing is searched
  Patch patch[kMostVerified];
};

/// plan(), then bind() to a scratch, then enqueue() as often as wanted. What it searches with
/// shares the scratch with searches before: it comes behind them.
class Verifier {
 public:
  /// For a valid configuration and pictures of width x height. `parts` is where its own parts of
  /// the scratch come, behind all searches' at its beginning. May throw std::bad_alloc.
  Status plan(DeviceCascade& cascade, const DetectConfig& config, int width, int height,
              const StopFlag* stop = nullptr);
  /// Bytes at the beginning of the scratch, used by searches in turn.
  std::size_t search_bytes() const { return search_.scratch_bytes(); }
  void add_parts(ScratchLayout& parts);
  void bind(std::byte* scratch);

  /// After a search of `luma` that has written `out`: adds to it those of `followed` that it has
  /// missed and that are verified. All in device memory; `run` and `band` as in Detector::enqueue.
  /// `moved`: what the search knows of changes; null = nothing.
  Status enqueue(ImageView<const std::uint8_t> luma, const std::int32_t* run,
                 const SearchRegion* band, const Activity::State* moved,
                 const FollowedFaces* followed, DeviceFaces* out, Launcher launch);

 private:
  int width_ = 0, height_ = 0, max_faces_ = 0;
  PatchShape shape_;
  UprightSearch search_;  ///< of the atlas
  ScratchPart<std::uint8_t> atlas_;
  ScratchPart<DeviceFaces> found_;  ///< in the atlas
  ScratchPart<ChosenFaces> chosen_;
};

}  // namespace cuface::cuda
