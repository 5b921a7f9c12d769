#include "kernels/common/cuda/submissions.cuh"
#include "kernels/common/cuda/submissions.h"

namespace cuface::cuda {
namespace {

__global__ void over_kernel(std::uint64_t* over) { add_over(over); }

}  // namespace

Status count_over(std::uint64_t* over, Launcher launch) {
  return launch("counting work", over_kernel, {1, 1}, over);
}

}  // namespace cuface::cuda
