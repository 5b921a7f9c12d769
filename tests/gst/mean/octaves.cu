#include <cub/block/block_reduce.cuh>

#include "kernels/pyramid/cuda/octaves.h"
#include "tests/gst/mean/octaves.h"

namespace cuface::cuda {
constexpr int kThreads = 512;

struct Levels {
  ImageView<const std::uint8_t> level[GaussianPyramid::kMaxLevels];
};

/// A block a level.
__global__ void octaves_kernel(const __grid_constant__ Levels levels, int made, Octaves* out) {
  using Sum = cub::BlockReduce<std::uint64_t, kThreads>;
  __shared__ Sum::TempStorage room;
  const ImageView<const std::uint8_t> level = levels.level[blockIdx.x];
  std::uint64_t sum = 0;
  for (int y = 0; y < level.height; ++y)
    for (int x = threadIdx.x; x < level.width; x += kThreads) sum += weigh(level.row(y)[x], x, y);
  sum = Sum(room).Sum(sum);
  if (threadIdx.x != 0) return;
  out->sum[blockIdx.x] = sum;
  if (blockIdx.x > 0) return;
  out->levels = static_cast<std::int32_t>(gridDim.x);
  out->made = made;
  for (int i = static_cast<int>(gridDim.x); i < GaussianPyramid::kMaxLevels; ++i) out->sum[i] = 0;
}

Status sum_octaves(const GaussianPyramid& pyramid, int made, Octaves* out, const Launcher& launch) {
  Levels levels;
  for (int i = 0; i < pyramid.levels(); ++i) levels.level[i] = pyramid.level(i);
  return launch("octaves", octaves_kernel, {static_cast<unsigned>(pyramid.levels()), kThreads},
                levels, made, out);
}
}  // namespace cuface::cuda
