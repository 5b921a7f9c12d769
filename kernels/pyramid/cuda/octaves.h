// The flow's Gaussian octaves in device memory, bit-equal to GaussianPyramid.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"

namespace cuface::cuda {

/// Level 0 is a copy of the picture; level i+1 is gaussian_down of level i. Owns its levels.
/// One thread at a time; the order of builds and reads is that of the streams they are put on.
class GaussianPyramid {
 public:
  /// Most levels a pyramid may have.
  static constexpr int kMaxLevels = 10;

  /// As cuface::GaussianPyramid; `levels` is 1..kMaxLevels. kInvalidArgument, kOutOfMemory.
  static Result<std::unique_ptr<GaussianPyramid>> create(int width, int height, int levels,
                                                         int min_side);

  /// Builds the first `levels` levels (at most levels()) from a picture in device memory of the
  /// planned size, which is not read by anything after these launches.
  Status enqueue(ImageView<const std::uint8_t> picture, int levels, Launcher launch);
  Status enqueue(ImageView<const std::uint8_t> picture, Launcher launch) {
    return enqueue(picture, levels(), launch);
  }
  /// Builds levels `first`..`levels`-1 from the one below, which has been built; first >= 1.
  Status enqueue_above(int first, int levels, Launcher launch);

  int levels() const { return static_cast<int>(levels_.size()); }
  ImageView<const std::uint8_t> level(int i) const;

 private:
  GaussianPyramid() = default;
  /// Levels `first`..`levels`-1, two a launch, the first of them from `source`; `copy` := `source`
  /// where it has data.
  Status enqueue_two(ImageView<const std::uint8_t> source, ImageView<std::uint8_t> copy, int first,
                     int levels, Launcher launch);
  std::vector<DeviceImage<std::uint8_t>> levels_;
};

}  // namespace cuface::cuda
