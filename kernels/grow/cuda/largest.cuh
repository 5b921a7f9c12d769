// How large residuals are: what tells whether sums fit 32 bits.
#pragma once

#include <cstdint>

#include "kernels/grow/cuda/samples.h"

namespace cuface::cuda::grow {

/// Once a thread, with the largest absolute value that it has written.
__device__ inline void raise_largest(const DeviceSamples& samples, std::int32_t value) {
  // Others raise it meanwhile; an old value only asks once too often.
  if (value > *static_cast<const volatile std::int32_t*>(samples.largest))
    atomicMax(samples.largest, value);
}

}  // namespace cuface::cuda::grow
