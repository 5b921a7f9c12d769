// ORB in device memory: the keypoints and bytes of cuface::OrbDetector, in its order.
//
// levels.h: what kernels leave each other; choose.h: which corners become keypoints; describe.h:
// their directions and descriptors; patch.cuh: those of one; lists.cuh: lists of the levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/scratch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/features/device_features.h"
#include "kernels/orb/cuda/levels.h"
#include "kernels/orb/orb.h"
#include "kernels/orb/pattern.h"
#include "kernels/orb/plan.h"
#include "kernels/pyramid/cuda/resize.h"

namespace cuface::cuda {

/// Finds and describes the keypoints of pictures of one size. Allocates tables when it is made; its
/// scratch is used by one picture at a time.
class OrbDetector {
 public:
  /// Adds what it needs to `layout`. Errors as cuface::OrbDetector.
  static Result<OrbDetector> create(const OrbConfig& config, int width, int height,
                                    ScratchLayout& layout);
  /// The memory of the layout, before the first picture.
  void bind(std::byte* scratch);

  /// Keypoints of a picture, at most.
  std::size_t most() const { return most_; }
  /// Puts kernels there, always the same ones; all lies in device memory, `out` with room for
  /// most(). `counted`, in memory that the device reaches, grows by the number of keypoints.
  /// kInvalidArgument where the size is another.
  Status enqueue(ImageView<const std::uint8_t> grey, DeviceFeatures* out, Launcher launch,
                 std::uint64_t* counted = nullptr) const;
  /// As cuface::OrbDetector::describe(): `out` has room for `count`, and errors are the same.
  Status describe(ImageView<const std::uint8_t> grey, const Keypoint* given, int count,
                  DeviceFeatures* out, Launcher launch) const;

 private:
  OrbDetector() = default;
  Status validate_picture(ImageView<const std::uint8_t> grey) const;
  /// The levels with their pictures, resized by kernels that it puts there; these set `zeros_` to
  /// 0.
  Result<orb::LevelParts> enqueue_levels(ImageView<const std::uint8_t> grey, Launcher launch) const;
  void plan(ScratchLayout& layout);

  OrbConfig config_;
  int width_ = 0, height_ = 0;
  std::size_t most_ = 0;
  std::vector<cuface::orb::OrbLevel> levels_;
  std::vector<LevelResize> resizes_;                 ///< from each level to the next
  std::vector<ScratchPart<std::uint8_t>> pictures_;  ///< of the levels above the first
  DeviceBuffer<cuface::orb::Pair> pattern_;
  orb::LevelParts places_{};          ///< of each level, all but its picture
  ScratchPart<std::uint32_t> zeros_;  ///< what begins at 0
  std::size_t rows_ = 0;              ///< of all parts
  ScratchPart<std::uint32_t> corners_, least_, keypoint_counts_;
  ScratchPart<std::uint8_t> scores_;
  ScratchPart<orb::Candidate> candidates_;
};

}  // namespace cuface::cuda
