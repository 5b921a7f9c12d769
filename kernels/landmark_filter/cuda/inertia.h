// Inertia of landmarks in device memory: the bits of inertia.h.
#pragma once

#include <memory>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/landmark_filter/inertia.h"

namespace cuface::cuda {

/// One a chain. Allocates at create() only. One stream, or streams ordered by the caller.
class LandmarkInertia {
 public:
  static Result<std::unique_ptr<LandmarkInertia>> create();
  /// `faces` have landmarks, in the boxes of `tracked`, which is of the same frame and has the
  /// followed ones, if any; all as add_inertia(). One launch. kInvalidArgument where one of them is
  /// null.
  Status enqueue(const DeviceFaces* tracked, DeviceFaces* faces, float inertia, Launcher launch);
  /// The next enqueue() knows no face.
  void forget() { forget_ = true; }

 private:
  LandmarkInertia() = default;
  DeviceBuffer<InertiaState> state_;
  bool forget_ = true;
};

}  // namespace cuface::cuda
