// What a training does where its GPU cannot be had.
#pragma once

#include <utility>

#include "kernels/common/backend.h"
#include "kernels/common/status.h"

namespace cuface {

/// Takes what was made for the GPU. False where the CPU trains instead: there is no GPU, or too
/// little of its memory, and the caller left the choice. Who asked for the GPU is told of the CPU.
template <typename T>
Result<bool> take_or_fall_back(TrainingBackend backend, Result<T> made, T& to) {
  if (made.ok()) {
    to = std::move(made.value());
    return true;
  }
  const Status& status = made.status();
  if (status.code() != StatusCode::kUnsupported && status.code() != StatusCode::kOutOfDeviceMemory)
    return status;
  if (backend == TrainingBackend::kAuto) return false;
  return Status(status.code(),
                status.message() + "; --backend cpu gives the same bytes without a GPU");
}

}  // namespace cuface
