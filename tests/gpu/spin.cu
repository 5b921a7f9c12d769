#include <cstdint>

#include "tests/gpu/spin.h"

namespace cuface::test {
namespace {

__device__ std::uint64_t now_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin_for(std::uint64_t ns) {
  const std::uint64_t begin = now_ns();
  while (now_ns() - begin < ns) {
  }
}

__global__ void trap() { __trap(); }

}  // namespace

cudaError_t spin(int microseconds, cudaStream_t stream) {
  spin_for<<<1, 1, 0, stream>>>(static_cast<std::uint64_t>(microseconds) * 1000);
  return cudaGetLastError();
}

cudaError_t lose_context(cudaStream_t stream) {
  trap<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}

}  // namespace cuface::test
