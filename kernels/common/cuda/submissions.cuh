// The last thing that a submission does.
#pragma once

#include <cstdint>

namespace cuface::cuda {

/// Adds 1 to `over`, in pinned host memory, behind all that the thread has seen written. By one
/// thread.
__device__ inline void add_over(std::uint64_t* over) {
  __threadfence_system();
  volatile std::uint64_t* seen = over;
  *seen = *seen + 1;
}

}  // namespace cuface::cuda
