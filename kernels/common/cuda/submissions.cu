#include "kernels/common/cuda/submissions.cuh"
#include "kernels/common/cuda/submissions.h"
#include "kernels/common/cuda/warp.cuh"

namespace cuface::cuda {
namespace {

__global__ void over_kernel(Tally<std::uint64_t> over, Tally<std::uint64_t> counts,
                            std::size_t count) {
  if (threadIdx.x < count) counts.told[threadIdx.x] = counts.own[threadIdx.x];
  __syncwarp();
  if (threadIdx.x == 0) add_over(over);
}

}  // namespace

Status count_over(Tally<std::uint64_t> over, Tally<std::uint64_t> counts, std::size_t count,
                  Launcher launch) {
  return launch("counting work", over_kernel, {1, kWarp}, over, counts, count);
}

}  // namespace cuface::cuda
