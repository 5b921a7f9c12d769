// What the current GPU has.
#pragma once

#include "kernels/common/cuda/runtime.h"

namespace cuface::cuda {

inline Result<int> attribute_of_gpu(cudaDeviceAttr what) {
  int device = 0, value = 0;
  CUFACE_TRY(check(cudaGetDevice(&device), "asking for the GPU"));
  CUFACE_TRY(check(cudaDeviceGetAttribute(&value, what, device), "asking what the GPU has"));
  return value;
}

/// Bytes that a block may have, if it asks for them.
inline Result<int> most_shared_memory() {
  return attribute_of_gpu(cudaDevAttrMaxSharedMemoryPerBlockOptin);
}
inline Result<int> multiprocessors() { return attribute_of_gpu(cudaDevAttrMultiProcessorCount); }

}  // namespace cuface::cuda
