#include <algorithm>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/grow/cuda/samples.h"
#include "kernels/grow/steps.h"

namespace cuface::cuda::grow {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr unsigned kMostBlocks = 65535;

/// For a whole warp: the rotation of a shape. The lower half of the lanes has the parts of a, the
/// upper half those of b (forest::kFitParts).
__device__ forest::ScaledRotation rotation_of(const forest::Lever* levers, const float* shape,
                                              int landmarks) {
  static_assert(2 * forest::kFitParts == kWarp);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const bool is_b = lane >= forest::kFitParts;
  double sum = 0;
  for (int i = lane % forest::kFitParts; i < landmarks; i += forest::kFitParts) {
    const forest::Lever lever = levers[i];
    const Point at{shape[2 * i], shape[2 * i + 1]};
    sum += is_b ? lever.quarter_turn().along(at) : lever.along(at);
  }
#pragma unroll
  for (int apart = forest::kFitParts / 2; apart > 0; apart /= 2)
    sum += __shfl_down_sync(kAllLanes, sum, apart);
  const double a = __shfl_sync(kAllLanes, sum, 0);
  const double b = __shfl_sync(kAllLanes, sum, forest::kFitParts);
  return {forest::coefficient_from(a, forest::ScaledRotation{}.a),
          forest::coefficient_from(b, forest::ScaledRotation{}.b)};
}

/// A block has as many samples as a warp has lanes: first its warps find their rotations in turn,
/// then each warp reads a pixel of all of them.
__global__ void __launch_bounds__(kThreads)
    pixels_kernel(const __grid_constant__ DeviceSamples samples,
                  const __grid_constant__ StagePixels stage) {
  __shared__ float a[kWarp], b[kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::uint32_t first = blockIdx.x * kWarp;
  for (int i = warp; i < kWarp; i += kWarps) {
    const std::uint32_t sample = min(first + static_cast<std::uint32_t>(i), samples.count - 1);
    const forest::ScaledRotation rotation =
        rotation_of(stage.levers, samples.shapes + samples.shape(sample), samples.size / 2);
    if (lane != 0) continue;
    a[i] = rotation.a;
    b[i] = rotation.b;
  }
  __syncthreads();
  const std::uint32_t sample = first + static_cast<std::uint32_t>(lane);
  if (sample >= samples.count) return;
  const forest::ScaledRotation rotation{a[lane], b[lane]};
  const TrainingFace& face = samples.faces[sample / samples.amount];
  const forest::PixelReader reader(face.picture, face.box);
  const float* const shape = samples.shapes + samples.shape(sample);
  for (int i = warp; i < samples.pool; i += kWarps) {
    const std::uint32_t anchor = stage.anchors[i];
    const Point at = rotation.place({shape[2 * anchor], shape[2 * anchor + 1]}, stage.deltas[i]);
    samples.pixels[static_cast<std::size_t>(i) * samples.padded + sample] = reader.at(at);
  }
}

__global__ void __launch_bounds__(kThreads)
    rows_kernel(const __grid_constant__ DeviceSamples samples) {
  for (std::uint32_t sample = blockIdx.x; sample < samples.count; sample += gridDim.x) {
    const std::uint32_t face = sample / samples.amount;
    const float* const target = samples.targets + samples.shape(face);
    const float* const shape = samples.shapes + samples.shape(sample);
    std::int32_t* const row = samples.rows + samples.row(sample);
    for (int k = static_cast<int>(threadIdx.x); k < samples.stride;
         k += static_cast<int>(blockDim.x)) {
      std::int32_t value = k == samples.size ? 1 : 0;
      if (k < samples.size && samples.has(face, k))
        value = cuface::grow::residual(target[k], shape[k]);
      row[k] = value;
    }
  }
}

}  // namespace

Status begin_stage(const DeviceSamples& samples, const StagePixels& stage, Launcher launch) {
  const unsigned blocks = (samples.count + kWarp - 1) / kWarp;
  CUFACE_TRY(launch("reading feature pixels", pixels_kernel, {blocks, kThreads}, samples, stage));
  const unsigned threads = static_cast<unsigned>((samples.stride + kWarp - 1) / kWarp * kWarp);
  return launch("writing residuals", rows_kernel,
                {std::min(samples.count, kMostBlocks), std::min(threads, unsigned{kThreads})},
                samples);
}

}  // namespace cuface::cuda::grow
