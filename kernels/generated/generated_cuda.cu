#include "kernels/common/cuda/warp.cuh"
#include "kernels/generated/generated_cuda.h"

namespace cuface::cuda {
namespace {

constexpr int kBlockX = kWarp, kBlockY = 4;
constexpr int kRows = 8;  // of a thread: no cell of the noise is lower, so all lie in one

/// A warp a part of some rows, a lane a column. Lane i asks whether shape i can be in the warp's
/// part: few are.
__global__ void __launch_bounds__(kBlockX* kBlockY)
    generate_kernel(const GeneratedScene* scenes, ImageView<std::uint8_t> out, std::size_t apart) {
  static_assert(GeneratedScene::kMostShapes <= kWarp);
  static_assert(kGeneratedWidth % kBlockX == 0 && kGeneratedHeight % (kBlockY * kRows) == 0);
  static_assert(256 >> (GeneratedScene::kOctaves - 1) == kRows);
  const GeneratedScene& scene = scenes[blockIdx.z];
  out.data += blockIdx.z * apart;
  const int lane = static_cast<int>(threadIdx.x);
  const int left = static_cast<int>(blockIdx.x) * kBlockX, x = left + lane;
  const int top = static_cast<int>(blockIdx.y * kBlockY + threadIdx.y) * kRows;
  const auto is_near = [&](const GeneratedScene::Shape& shape) {
    return shape.x + shape.half_w >= left && shape.x - shape.half_w < left + kBlockX &&
           shape.y + shape.half_h >= top && shape.y - shape.half_h < top + kRows;
  };
  unsigned near = __ballot_sync(kAllLanes, lane < scene.shapes && is_near(scene.shape[lane]));
  int v[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) v[r] = scene.brightness;
    // octave_noise(), with the cell's corners drawn once.
#pragma unroll
  for (int octave = 0; octave < GeneratedScene::kOctaves; ++octave) {
    const int strength = scene.octaves[octave];
    if (strength == 0) continue;
    const int period = 256 >> octave;
    const int cx = x / period, cy = top / period, fx = x % period;
    const auto along = [&](int y) {
      return noise_corner(scene, octave, cx, y) * (period - fx) +
             noise_corner(scene, octave, cx + 1, y) * fx;
    };
    const int above = along(cy), below = along(cy + 1);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int fy = top % period + r;
      v[r] += (above * (period - fy) + below * fy) / (period * period) * strength / 128;
    }
  }
  for (; near != 0; near &= near - 1) {
    const GeneratedScene::Shape shape = scene.shape[__ffs(static_cast<int>(near)) - 1];
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (covers(shape, x, top + r)) v[r] += (shape.grey - v[r]) * shape.opacity / 255;
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) out.at(x, top + r) = with_grain(scene, x, top + r, v[r]);
}

}  // namespace

Status generate_backgrounds(const GeneratedScene* scenes, unsigned pictures,
                            ImageView<std::uint8_t> first, std::size_t apart, Launcher launch) {
  if (first.width != kGeneratedWidth || first.height != kGeneratedHeight)
    return {StatusCode::kInvalidArgument, "a generated picture of another size"};
  const dim3 grid(kGeneratedWidth / kBlockX, kGeneratedHeight / (kBlockY * kRows), pictures);
  return launch("generating pictures", generate_kernel, {grid, dim3(kBlockX, kBlockY)}, scenes,
                first, apart);
}

}  // namespace cuface::cuda
