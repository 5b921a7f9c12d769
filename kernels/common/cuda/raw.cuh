// Shared memory for what has a constructor.
#pragma once

namespace cuface::cuda {

/// Shared memory for a T that has a constructor, which is not run.
template <typename T>
struct alignas(T) Raw {
  unsigned char bytes[sizeof(T)];
  __device__ T& get() { return *reinterpret_cast<T*>(bytes); }
};

}  // namespace cuface::cuda
