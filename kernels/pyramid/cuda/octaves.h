// The flow's Gaussian octaves in device memory, bit-equal to GaussianPyramid.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface::cuda {

/// Level 0 is a copy of the picture; level i+1 is gaussian_down of level i. Owns its levels.
/// One thread at a time; the order of builds and reads is that of the streams they are put on. Who
/// reads levels builds them before, and who reads them then shares what is built.
class GaussianPyramid {
 public:
  /// Most levels a pyramid may have.
  static constexpr int kMaxLevels = cuface::GaussianPyramid::kMaxLevels;

  /// As cuface::GaussianPyramid; `levels` is 1..kMaxLevels. kInvalidArgument, kOutOfMemory.
  static Result<std::unique_ptr<GaussianPyramid>> create(
      int width, int height, int levels = kMaxLevels,
      int min_side = cuface::GaussianPyramid::kMinWindow);

  /// Begins the pyramid of a picture in device memory of the planned size: no level is built. The
  /// first enqueue() reads the picture, and nothing else does.
  Status begin(ImageView<const std::uint8_t> picture);
  /// Builds what is missing of the first `levels` levels (at most levels()), two a launch.
  Status enqueue(int levels, Launcher launch);
  /// Both, for all levels.
  Status enqueue(ImageView<const std::uint8_t> picture, Launcher launch);

  int levels() const { return static_cast<int>(levels_.size()); }
  /// Levels built since the pyramid was begun.
  int built() const { return built_; }
  ImageView<const std::uint8_t> level(int i) const;

 private:
  GaussianPyramid() = default;
  Status enqueue_above(int first, int levels, Launcher launch);
  /// Levels `first`..`levels`-1, two a launch, the first of them from `source`; `copy` := `source`
  /// where it has data.
  Status enqueue_two(ImageView<const std::uint8_t> source, ImageView<std::uint8_t> copy, int first,
                     int levels, Launcher launch);
  std::vector<DeviceImage<std::uint8_t>> levels_;
  ImageView<const std::uint8_t> picture_;
  int built_ = 0;
};

}  // namespace cuface::cuda
