// The rolls of faces in device memory: the bits of remember_rolls() (roll.h).
#pragma once

#include <memory>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/landmarks/cuda/landmarker.h"
#include "kernels/landmarks/roll.h"

namespace cuface::cuda {

/// What one chain remembers: create and enqueue in the context of the forest, on one stream.
class RollMemory {
 public:
  static Result<std::unique_ptr<RollMemory>> create(std::shared_ptr<const DeviceForest> forest);

  /// Before the landmarks of a frame: what is known of its faces.
  const RollState* known() const { return state_.data() + (empty_ ? 1 : 0); }

  /// Behind them: `faces` have the forest's landmarks. One launch; no allocation, copy or wait.
  Status remember(const DeviceFaces* faces, Launcher launch);

  /// The next frame's faces have nothing to do with those before.
  void forget() { empty_ = true; }

 private:
  RollMemory() = default;

  std::shared_ptr<const DeviceForest> forest_;
  DeviceBuffer<RollState> state_;  ///< and behind it one that knows no face
  bool empty_ = true;
};

}  // namespace cuface::cuda
