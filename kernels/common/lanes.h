// One source for decisions that the CPU takes in turn and a CUDA block side by side: a template
// takes a `lanes` and says what is independent (`each`) and what is not (`once`). A value that
// lanes read between two calls must not be written by the second of them.
#pragma once

#include "kernels/common/host_device.h"

namespace cuface {

/// The CPU: everything in turn.
struct SerialLanes {
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
};

#ifdef __CUDACC__
/// A block: all its threads call every member together. What one call wrote the next one sees.
struct BlockLanes {
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
};
#endif

}  // namespace cuface
