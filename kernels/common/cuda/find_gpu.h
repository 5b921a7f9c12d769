// Whether there is a GPU at all.
#pragma once

#include "kernels/common/cuda/runtime.h"

namespace cuface::cuda {

/// kUnsupported where there is none, or none that CUDA can use.
inline Status find_gpu() {
  int devices = 0;
  CUFACE_TRY(check(cudaGetDeviceCount(&devices), "looking for a GPU"));
  return devices > 0 ? Status() : Status(StatusCode::kUnsupported, "there is no GPU");
}

}  // namespace cuface::cuda
