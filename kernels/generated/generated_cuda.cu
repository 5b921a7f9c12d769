#include "kernels/common/cuda/warp.cuh"
#include "kernels/generated/generated.h"
#include "kernels/generated/generated_cuda.h"

namespace cuface::cuda {
namespace {

constexpr int kBlockX = kWarp, kBlockY = 8;

/// A warp a part of a row, a lane a pixel. Lane i asks whether shape i can be in the row's part:
/// few are.
__global__ void __launch_bounds__(kBlockX* kBlockY)
    generate_kernel(const __grid_constant__ GeneratedScene scene, ImageView<std::uint8_t> out) {
  static_assert(GeneratedScene::kMostShapes <= kWarp);
  static_assert(kGeneratedWidth % kBlockX == 0 && kGeneratedHeight % kBlockY == 0);
  const int lane = static_cast<int>(threadIdx.x);
  const int left = static_cast<int>(blockIdx.x) * kBlockX, x = left + lane;
  const int y = static_cast<int>(blockIdx.y * kBlockY + threadIdx.y);
  const auto is_near = [&](const GeneratedScene::Shape& shape) {
    return shape.x + shape.half_w >= left && shape.x - shape.half_w < left + kBlockX &&
           shape.y + shape.half_h >= y && shape.y - shape.half_h <= y;
  };
  unsigned near = __ballot_sync(kAllLanes, lane < scene.shapes && is_near(scene.shape[lane]));
  int v = scene.brightness;
  for (int octave = 0; octave < GeneratedScene::kOctaves; ++octave)
    if (scene.octaves[octave] != 0)
      v += octave_noise(scene, octave, x, y) * scene.octaves[octave] / 128;
  for (; near != 0; near &= near - 1) {
    const GeneratedScene::Shape& shape = scene.shape[__ffs(static_cast<int>(near)) - 1];
    if (covers(shape, x, y)) v += (shape.grey - v) * shape.opacity / 255;
  }
  out.at(x, y) = with_grain(scene, x, y, v);
}

}  // namespace

Status generate_background(std::uint64_t seed, std::uint64_t picture, ImageView<std::uint8_t> out,
                           Launcher launch) {
  if (out.width != kGeneratedWidth || out.height != kGeneratedHeight)
    return {StatusCode::kInvalidArgument, "a generated picture of another size"};
  const dim3 grid(kGeneratedWidth / kBlockX, kGeneratedHeight / kBlockY);
  return launch("generating a picture", generate_kernel, {grid, dim3(kBlockX, kBlockY)},
                generated_scene(seed, picture), out);
}

}  // namespace cuface::cuda
