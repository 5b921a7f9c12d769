#include <cub/device/device_reduce.cuh>
#include <cub/device/device_select.cuh>

#include "tests/gpu/bench/cub_tools.h"

namespace cuface::test {
namespace {

struct IsPositive {
  __device__ bool operator()(float value) const { return value > 0; }
};

}  // namespace

cudaError_t cub_sum(void* temporary, std::size_t& bytes, const float* in, float* out, int count,
                    cudaStream_t stream) {
  return cub::DeviceReduce::Sum(temporary, bytes, in, out, count, stream);
}

cudaError_t cub_keep_positive(void* temporary, std::size_t& bytes, const float* in, float* out,
                              int* kept, int count, cudaStream_t stream) {
  return cub::DeviceSelect::If(temporary, bytes, in, out, kept, count, IsPositive{}, stream);
}

}  // namespace cuface::test
