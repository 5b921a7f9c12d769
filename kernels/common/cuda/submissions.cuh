// The last thing that a submission does.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/tally.h"

namespace cuface::cuda {

/// Adds 1 to `over` behind all that the thread has seen written. By one thread.
__device__ inline void add_over(const Tally<std::uint64_t>& over) {
  const std::uint64_t now = ++*over.own;
  __threadfence_system();
  *static_cast<volatile std::uint64_t*>(over.told) = now;
}

}  // namespace cuface::cuda
