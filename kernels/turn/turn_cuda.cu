#include <algorithm>

#include "kernels/common/cuda/runtime.h"
#include "kernels/common/cuda/tables.h"
#include "kernels/turn/turn_cuda.h"

namespace cuface::cuda {
namespace {

constexpr int kBlockX = 32, kBlockY = 8;
constexpr int kMaxGridY = 65535;

/// A thread a pixel.
__global__ void turn_kernel(ImageView<const std::uint8_t> picture, Turn turn,
                            ImageView<std::uint8_t> canvas, const std::int32_t* run) {
  const int u = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (idle(run) || u >= canvas.width) return;
  for (int v = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y); v < canvas.height;
       v += static_cast<int>(gridDim.y * blockDim.y)) {
    std::int64_t x, y;
    turning::first_place(turn, v, x, y);
    x += 2 * static_cast<std::int64_t>(u) * turn.cos;
    y += 2 * static_cast<std::int64_t>(u) * turn.sin;
    canvas.at(u, v) = turning::sample(picture, x, y);
  }
}

unsigned blocks_for(int count, int block) {
  return static_cast<unsigned>((count + block - 1) / block);
}

}  // namespace

Status turn_picture(ImageView<const std::uint8_t> picture, const Turn& turn,
                    ImageView<std::uint8_t> canvas, const std::int32_t* run, Launcher launch) {
  if (!fits(turn, picture, canvas))
    return {StatusCode::kInvalidArgument, "turn: not the planned sizes"};
  const dim3 grid(blocks_for(canvas.width, kBlockX),
                  std::min<unsigned>(blocks_for(canvas.height, kBlockY), kMaxGridY));
  return launch("turning the picture", turn_kernel, {grid, {kBlockX, kBlockY}}, picture, turn,
                canvas, run);
}

}  // namespace cuface::cuda
