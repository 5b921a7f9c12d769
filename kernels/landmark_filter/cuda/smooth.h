// Landmarks smoothed in time in device memory: the bits of smooth.h.
#pragma once

#include <memory>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/landmark_filter/smooth.h"

namespace cuface::cuda {

/// One a chain. Allocates at create() only. One stream, or streams ordered by the caller.
class LandmarkSmoother {
 public:
  static Result<std::unique_ptr<LandmarkSmoother>> create();
  /// `to`, which is not `from`, gets the faces with their landmarks smoothed; all as
  /// smooth_landmarks(). One launch. kInvalidArgument where one of them is null, or they are the
  /// same.
  Status enqueue(const DeviceFaces* from, DeviceFaces* to, double seconds, float smooth,
                 Launcher launch);
  /// The next enqueue() knows no face.
  void forget() { forget_ = true; }

 private:
  LandmarkSmoother() = default;
  DeviceBuffer<SmoothState> state_;
  bool forget_ = true;
};

}  // namespace cuface::cuda
