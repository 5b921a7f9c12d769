// The 32 threads that CUDA runs together: names, and sums over them.
#pragma once

namespace cuface::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

#ifdef __CUDACC__
/// For a whole warp: the sum of the values of the lanes up to this one, its own too [S0.06].
template <typename T>
__device__ T prefix_sum(T value) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int apart = 1; apart < kWarp; apart *= 2) {
    const T before = __shfl_up_sync(kAllLanes, value, static_cast<unsigned>(apart));
    if (lane >= apart) value += before;
  }
  return value;
}

/// For a whole warp: `sum` and the values of the first `count` lanes, added in their order. The
/// same in all lanes.
__device__ inline double add_in_order(double sum, float value, int count) {
  for (int k = 0; k < count; ++k) sum += static_cast<double>(__shfl_sync(kAllLanes, value, k));
  return sum;
}
#endif

}  // namespace cuface::cuda
