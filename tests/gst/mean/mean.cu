#include <cub/block/block_reduce.cuh>

#include "kernels/common/cuda/launch.h"
#include "tests/gst/mean/mean.h"

namespace cuface::cuda {
constexpr int kThreads = 512;

__global__ void mean_kernel(ImageView<const std::uint8_t> luma, Mean* out) {
  using Sum = cub::BlockReduce<std::int64_t, kThreads>;
  __shared__ Sum::TempStorage room;
  std::int64_t sum = 0;
  for (int y = 0; y < luma.height; ++y)
    for (int x = threadIdx.x; x < luma.width; x += kThreads) sum += luma.row(y)[x];
  sum = Sum(room).Sum(sum);
  if (threadIdx.x == 0) *out = {sum, std::int64_t{luma.width} * luma.height};
}

Status mean(ImageView<const std::uint8_t> luma, Mean* out, const Launcher& launch) {
  return launch("the mean", mean_kernel, {1, kThreads}, luma, out);
}
}  // namespace cuface::cuda
