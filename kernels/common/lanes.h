// One source for decisions that the CPU takes in turn and a CUDA block side by side: a template
// takes a `lanes` and says what is independent (`each`, `any`, `pick`, `largest`) and what is
// not (`once`). A value that lanes read between two calls must not be written by the second of
// them.
#pragma once

#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/host_device.h"

namespace cuface {

/// The CPU: everything in turn.
struct SerialLanes {
  /// Pieces into which one lane's loop is worth being cut, for others to take.
  static constexpr int kParts = 1;

  /// f(0) .. f(n - 1), which must not depend on each other.
  template <typename F>
  void each(int n, F f) const {
    for (int i = 0; i < n; ++i) f(i);
  }
  /// f() by one lane.
  template <typename F>
  void once(F f) const {
    f();
  }
  /// Whether f(i) for any i below n; all are asked, as by each().
  template <typename F>
  bool any(int n, F f) const {
    bool is_any = false;
    for (int i = 0; i < n; ++i) is_any |= f(i);
    return is_any;
  }
  /// Some of the lanes that wait for each other in little time. Others wait() for what they do.
  using Few = SerialLanes;
  bool is_of_few() const { return true; }
  void wait() const {}
  /// f(i, place) of those i below n for which wanted(i), with places from 0 on in their order. How
  /// many these are. f must not change what `wanted` says of others.
  template <typename Wanted, typename F>
  int pick(int n, Wanted wanted, F f) const {
    int places = 0;
    for (int i = 0; i < n; ++i)
      if (wanted(i)) f(i, places++);
    return places;
  }
  /// The largest of f(0) .. f(n - 1); n > 0.
  template <typename F>
  auto largest(int n, F f) const {
    auto most = f(0);
    for (int i = 1; i < n; ++i) {
      if (const auto value = f(i); value > most) most = value;
    }
    return most;
  }
};

#ifdef __CUDACC__
/// The first warp of a block.
struct WarpLanes {
  template <typename F>
  __device__ void each(int n, F f) const {
    for (int i = static_cast<int>(threadIdx.x); i < n; i += cuda::kWarp) f(i);
    __syncwarp();
  }
  template <typename F>
  __device__ bool any(int n, F f) const {
    bool is_any = false;
    for (int i = static_cast<int>(threadIdx.x); i < n; i += cuda::kWarp) is_any |= f(i);
    is_any = __any_sync(cuda::kAllLanes, is_any) != 0;
    __syncwarp();
    return is_any;
  }
};

/// A block of whole warps: all its threads call every member together. What one call wrote the next
/// one sees.
struct BlockLanes {
  static constexpr int kParts = 4;

  template <typename F>
  __device__ void each(int n, F f) const {
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) f(i);
    __syncthreads();
  }
  template <typename F>
  __device__ void once(F f) const {
    if (threadIdx.x == 0) f();
    __syncthreads();
  }
  template <typename F>
  __device__ bool any(int n, F f) const {
    bool is_any = false;
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
      is_any |= f(i);
    return __syncthreads_or(is_any) != 0;
  }
  using Few = WarpLanes;
  __device__ bool is_of_few() const { return threadIdx.x < cuda::kWarp; }
  __device__ void wait() const { __syncthreads(); }
  // In these each warp asks all, so that none has to tell another what it has found.
  template <typename Wanted, typename F>
  __device__ int pick(int n, Wanted wanted, F f) const {
    const int lane = static_cast<int>(threadIdx.x) % cuda::kWarp;
    const int warp = static_cast<int>(threadIdx.x) / cuda::kWarp;
    const int warps = static_cast<int>(blockDim.x) / cuda::kWarp;
    int places = 0;
    for (int first = 0; first < n; first += cuda::kWarp) {
      const bool is_wanted = first + lane < n && wanted(first + lane);
      const unsigned all = __ballot_sync(cuda::kAllLanes, is_wanted);
      if (is_wanted && first / cuda::kWarp % warps == warp)
        f(first + lane, places + __popc(all & ((1u << lane) - 1)));
      places += __popc(all);
    }
    __syncthreads();
    return places;
  }
  template <typename F>
  __device__ auto largest(int n, F f) const {
    auto most = f(0);
    for (int i = static_cast<int>(threadIdx.x) % cuda::kWarp; i < n; i += cuda::kWarp) {
      if (const auto value = f(i); value > most) most = value;
    }
#pragma unroll
    for (int apart = cuda::kWarp / 2; apart > 0; apart /= 2) {
      if (const auto other = __shfl_xor_sync(cuda::kAllLanes, most, apart); other > most)
        most = other;
    }
    __syncthreads();
    return most;
  }
};
#endif

}  // namespace cuface
