// One number of the 32 of a warp, for all its lanes. GPUs have instructions for it from 8.0 on.
#pragma once

#include "kernels/common/cuda/warp.cuh"

namespace cuface::cuda {

/// `step` combines two numbers, in any order.
template <typename T, typename Step>
__device__ T reduce_warp(T value, Step step) {
  for (int apart = kWarp / 2; apart > 0; apart /= 2)
    value = step(value, __shfl_xor_sync(kAllLanes, value, apart));
  return value;
}

/// Of integers of 32 bits.
template <typename T>
__device__ T sum_of_warp(T value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kAllLanes, value);
#else
  return reduce_warp(value, [](T a, T b) { return a + b; });
#endif
}

__device__ inline int largest_of_warp(int value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(kAllLanes, value);
#else
  return reduce_warp(value, [](int a, int b) { return max(a, b); });
#endif
}

/// The bits that any lane has.
__device__ inline unsigned bits_of_warp(unsigned value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_or_sync(kAllLanes, value);
#else
  return reduce_warp(value, [](unsigned a, unsigned b) { return a | b; });
#endif
}

}  // namespace cuface::cuda
