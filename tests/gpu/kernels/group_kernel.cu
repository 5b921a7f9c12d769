#include "kernels/group/cuda/kernels.cuh"
#include "tests/gpu/kernels/group_kernel.h"

namespace cuface::test {
namespace {

/// Counts each group, so that one that is given twice, or never, shows.
struct WriteDown {
  Detection* groups;
  std::uint32_t* number;

  __device__ void begin() const { *number = 0; }
  __device__ void operator()(const Detection* given, std::uint32_t n, std::uint32_t first,
                             std::uint32_t step) const {
    for (std::uint32_t i = first; i < n; i += step)
      if (threadIdx.x % cuda::kWarp == 0) groups[atomicAdd(number, 1u)] = given[i];
  }
};

}  // namespace

Status enqueue_groups(cuda::Grouper& grouper, const Rect* windows, const std::uint32_t* count,
                      Detection* groups, std::uint32_t* number, cuda::Launcher launch) {
  return grouper.enqueue(windows, count, WriteDown{groups, number}, launch);
}

}  // namespace cuface::test
