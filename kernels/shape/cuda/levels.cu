// The pictures that are searched: the bits of shape::Pyramid, for all faces at once. A block makes
// rows of a face's level.
#include <cstdint>

#include "kernels/common/border.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/try.h"
#include "kernels/shape/cuda/search.h"
#include "kernels/shape/pyramid_rules.h"
#include "kernels/texture/patch_pixels.h"

namespace cuface::cuda {
namespace {

constexpr int kThreads = 128;
constexpr unsigned kRowsAtOnce = 128, kFacesAtOnce = 16;

/// f(row) of the block's rows of `height`.
template <typename F>
__device__ void each_row(int height, F f) {
  for (int y = static_cast<int>(blockIdx.x); y < height; y += static_cast<int>(gridDim.x)) f(y);
}

/// f(job) of the block's searches.
template <typename F>
__device__ void each_job(const ShapeWork& work, F f) {
  const int jobs = work.counts[ShapeWork::kJobs];
  for (int job = static_cast<int>(blockIdx.y); job < jobs; job += static_cast<int>(gridDim.y))
    if (work.jobs[job].stage >= 0) f(job);
}

/// A row of shape::resize_linear().
__device__ void resize_row(const ImageView<const std::uint8_t>& from, double factor,
                           const ImageView<std::uint8_t>& to, int y) {
  const auto first = static_cast<int>(threadIdx.x);
  std::uint8_t* const out = to.row(y);
  const shape::ResizeWay way = shape::way_of(from, factor, to.width, to.height);
  if (way == shape::ResizeWay::kHalf) {
    for (int x = first; x < to.width; x += kThreads) out[x] = shape::half_pixel(from, x, y);
  } else if (way == shape::ResizeWay::kCopy) {
    for (int x = first; x < to.width; x += kThreads) out[x] = from.at(x, y);
  } else {
    const double scale = 1 / factor;
    const auto row = shape::Between::of(y, from.height, scale, false);
    const std::uint8_t *above = from.row(row.first), *below = from.row(row.second);
    for (int x = first; x < to.width; x += kThreads)
      out[x] =
          shape::between_pixels(above, below, shape::Between::of(x, from.width, scale, true), row);
  }
}

__global__ void __launch_bounds__(kThreads)
    first_level(const __grid_constant__ ShapeWork work,
                const __grid_constant__ ShapeFrames frames) {
  each_job(work, [&](int job) {
    const FaceJob& of = work.jobs[job];
    const ImageView<const std::uint8_t>& luma = frames.frame[of.frame].luma;
    const ImageView<const std::uint8_t> part{luma.row(of.window.y) + of.window.x, of.window.w,
                                             of.window.h, luma.stride};
    const ImageView<std::uint8_t> to = work.level(job, 0);
    each_row(to.height, [&](int y) { resize_row(part, of.scale, to, y); });
  });
}

/// Levels above the first of ShapePyramid::kLinear, a block's z each.
__global__ void __launch_bounds__(kThreads) other_levels(const __grid_constant__ ShapeWork work) {
  const int level = 1 + static_cast<int>(blockIdx.z);
  each_job(work, [&](int job) {
    const ImageView<std::uint8_t> to = work.level(job, level);
    const double factor = 1.0 / (1 << level);
    each_row(to.height, [&](int y) { resize_row(work.level(job, 0), factor, to, y); });
  });
}

/// A level of ShapePyramid::kGaussian from the one before: gaussian_down().
__global__ void __launch_bounds__(kThreads)
    next_level(const __grid_constant__ ShapeWork work, int level) {
  each_job(work, [&](int job) {
    const ImageView<const std::uint8_t> from = work.level(job, level - 1);
    const ImageView<std::uint8_t> to = work.level(job, level);
    each_row(to.height, [&](int y) {
      for (int x = static_cast<int>(threadIdx.x); x < to.width; x += kThreads) {
        constexpr int kWeights[] = {1, 4, 6, 4, 1};
        int sum = 0;
#pragma unroll
        for (int v = 0; v < 5; ++v) {
          const std::uint8_t* const row = from.row(reflect_101(2 * y + v - 2, from.height));
          int along = 0;
#pragma unroll
          for (int u = 0; u < 5; ++u)
            along += kWeights[u] * row[reflect_101(2 * x + u - 2, from.width)];
          sum += kWeights[v] * along;
        }
        to.at(x, y) = static_cast<std::uint8_t>((sum + 128) >> 8);
      }
    });
  });
}

/// The strongest edge of each level, a block's z each.
__global__ void __launch_bounds__(kThreads)
    strongest_edges(const __grid_constant__ ShapeWork work) {
  const auto level = static_cast<int>(blockIdx.z);
  each_job(work, [&](int job) {
    const texture::PatchPixels pixels{work.level(job, level)};
    int strongest = 0;
    each_row(pixels.picture.height, [&](int y) {
      for (int x = static_cast<int>(threadIdx.x); x < pixels.picture.width; x += kThreads)
        strongest = max(strongest, pixels.sobel_square(x, y));
    });
#pragma unroll
    for (int apart = kWarp / 2; apart > 0; apart /= 2)
      strongest = max(strongest, __shfl_xor_sync(kAllLanes, strongest, apart));
    if (threadIdx.x % kWarp == 0 && strongest > 0)
      atomicMax(work.strongest + job * static_cast<int>(gridDim.z) + level, strongest);
  });
}

}  // namespace

Status make_levels(const DeviceShape& model, const ShapeWork& work, const ShapeFrames& frames,
                   Launcher launch) {
  const ShapeTables& t = model.tables();
  const auto levels = static_cast<unsigned>(t.levels);
  const auto shape = [](unsigned z) {
    return LaunchShape{dim3(kRowsAtOnce, kFacesAtOnce, z), dim3(kThreads)};
  };
  CUFACE_TRY(launch("shape: level 0", first_level, shape(1), work, frames));
  if (t.pyramid == ShapePyramid::kLinear && levels > 1)
    CUFACE_TRY(launch("shape: levels", other_levels, shape(levels - 1), work));
  for (int level = 1; t.pyramid == ShapePyramid::kGaussian && level < t.levels; ++level)
    CUFACE_TRY(launch("shape: level", next_level, shape(1), work, level));
  if (!model.has_edges()) return {};
  return launch("shape: edges", strongest_edges, shape(levels), work);
}

}  // namespace cuface::cuda
