// What a training does where its GPU cannot be had.
#pragma once

#include "kernels/common/backend.h"
#include "kernels/common/status.h"

namespace cuface {

/// Whether the CPU trains instead, where what the GPU needs ended with `status`: there is none, or
/// too little of its memory, and the caller left the choice.
inline bool falls_back(TrainingBackend backend, const Status& status) {
  const bool is_missing =
      status.code() == StatusCode::kUnsupported || status.code() == StatusCode::kOutOfDeviceMemory;
  return is_missing && backend == TrainingBackend::kAuto;
}

}  // namespace cuface
