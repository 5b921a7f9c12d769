// One search for upright faces on CUDA: what cuda::Detector does at each of its angles.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/activity/activity_cuda.h"
#include "kernels/cascade/cascade.h"
#include "kernels/cascade/cuda/scaled_search.h"
#include "kernels/cascade/cuda/search.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/cuda/stop.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/detect/detect.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/faces/followed_cuda.h"
#include "kernels/group/cuda/grouper.h"
#include "kernels/integral/integral_cuda.h"
#include "kernels/pyramid/cuda/resize.h"

namespace cuface {
struct SearchPlan;
}

namespace cuface::cuda {

/// plan(), then bind() to a scratch, then enqueue() as often as wanted; the scratch may be used for
/// something else in between.
class UprightSearch {
 public:
  /// For a valid configuration, of which it does not see `roll`. With `active_parts` it remembers
  /// what it searched. kUnsupported: the levels, or the cascade's windows, take too much memory.
  /// kCancelled: `stop` was raised before it was done. May throw std::bad_alloc.
  Status plan(DeviceCascade& cascade, const DetectConfig& config, int width, int height,
              const StopFlag* stop = nullptr);
  /// Bytes of scratch that it needs.
  std::size_t scratch_bytes() const { return scratch_bytes_; }
  void bind(std::byte* scratch);

  /// Of a search of the whole picture.
  long long windows() const { return windows_; }

  /// Whether it was planned with `active_parts`.
  bool searches_parts() const { return activity_.state() != nullptr; }

  /// What goes before enqueue(): the picture that is searched, and what of it is active.
  Status prepare(ImageView<const std::uint8_t> luma, const std::int32_t* run,
                 const SearchRegion* band, const FollowedFaces* followed, Launcher launch,
                 const StopLook& look = {});
  /// Of an if around enqueue(), behind prepare(): `run`, or where it searches parts one that may be
  /// 0 though *run is not.
  const std::int32_t* due(const std::int32_t* run) const;
  /// As Detector::enqueue, without its checks, and always on a stream as far as `run` goes. With a
  /// look it looks before each of its two long launches.
  Status enqueue(ImageView<const std::uint8_t> luma, const std::int32_t* run,
                 const SearchRegion* band, DeviceFaces* out, Launcher launch,
                 const StopLook& look = {});

  /// What the last search left in device memory, before grouping.
  const Rect* raw_windows() const {
    return scales_windows_ ? scaled_search_.raw_windows() : search_.raw_windows();
  }
  const SearchCounts* counts() const {
    return scales_windows_ ? scaled_search_.counts() : search_.counts();
  }
  ImageView<const std::uint8_t> pixels() const { return pixels_; }
  const Activity& activity() const { return activity_; }
  const std::vector<AtlasSlot>& slots() const { return slots_; }

 private:
  Status plan_pyramid(DeviceCascade& cascade, const SearchPlan& plan, ScratchLayout& parts,
                      const StopFlag* stop);
  Status plan_windows(DeviceCascade& cascade, const SearchPlan& plan, ScratchLayout& parts);
  Status search_pyramid(ImageView<const std::uint8_t> picture, const std::int32_t* run,
                        const SearchRegion* band, Launcher launch, const StopLook& look);
  ImageView<const std::uint8_t> searched(ImageView<const std::uint8_t> luma) const {
    return small_.width > 0 ? ImageView<const std::uint8_t>(small_) : luma;
  }

  int width_ = 0, height_ = 0;                    ///< of the picture
  int searched_width_ = 0, searched_height_ = 0;  ///< of the picture that is searched
  int max_faces_ = 0;
  long long windows_ = 0;
  LevelResize shrink_, resize_;
  ImageView<std::uint8_t> small_;  ///< with detect_scale
  // Of scaled pictures:
  Activity activity_;               ///< with active_parts
  ImageView<std::uint8_t> pixels_;  ///< atlas of the levels
  std::vector<AtlasSlot> slots_;    ///< of each level, in the atlas
  CascadeSearch search_;
  // Of scaled windows:
  bool scales_windows_ = false;
  IntegralImages integrals_;
  ScaledSearch scaled_search_;
  Grouper grouper_;
  ScratchPart<std::uint8_t> small_part_, pixels_part_;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace cuface::cuda
