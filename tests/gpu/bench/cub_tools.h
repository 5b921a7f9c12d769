// CUB's reduction and compaction: the tools that the stages' own kernels are measured beside.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace cuface::test {

/// *out := the sum of in[0 .. count). As CUB: with `temporary` null it only says how many bytes of
/// it are wanted. All in device memory.
cudaError_t cub_sum(void* temporary, std::size_t& bytes, const float* in, float* out, int count,
                    cudaStream_t stream);

/// out := those of in[0 .. count) that are above 0, in their order; *kept := their number.
cudaError_t cub_keep_positive(void* temporary, std::size_t& bytes, const float* in, float* out,
                              int* kept, int count, cudaStream_t stream);

}  // namespace cuface::test
