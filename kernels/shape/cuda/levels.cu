// The pictures that are searched: the bits of shape::Pyramid, for all faces at once. A thread makes
// a few pixels below each other, which have a column's numbers and most rows' sums in common.
#include <cstdint>

#include "kernels/common/border.h"
#include "kernels/common/cuda/early.cuh"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/try.h"
#include "kernels/shape/cuda/once.cuh"
#include "kernels/shape/cuda/search.h"
#include "kernels/shape/pyramid_rules.h"
#include "kernels/texture/patch_pixels.h"

namespace cuface::cuda {
namespace {

constexpr int kThreads = 128, kRows = 4;
constexpr unsigned kStripsAtOnce = 128, kFacesAtOnce = 16;

/// f(x, first, end) of the thread's pixels in a picture: of column x the rows from `first` on.
template <typename F>
__device__ void each_strip(int width, int height, F f) {
  const int across = (width + kThreads - 1) / kThreads, down = (height + kRows - 1) / kRows;
  for (int i = static_cast<int>(blockIdx.x); i < across * down; i += static_cast<int>(gridDim.x)) {
    const int x = i % across * kThreads + static_cast<int>(threadIdx.x), y = i / across * kRows;
    if (x < width) f(x, y, min(y + kRows, height));
  }
}

/// f(job) of the block's searches, when the launch before has ended.
template <typename F>
__device__ void each_job(const ShapeWork& work, F f) {
  wait_for_launch();
  allow_next_launch();
  const int jobs = work.counts[ShapeWork::kJobs];
  for (int job = static_cast<int>(blockIdx.y); job < jobs; job += static_cast<int>(gridDim.y))
    if (work.jobs[job].stage >= 0) f(job);
}

/// As shape::resize_linear().
__device__ void resize(const ImageView<const std::uint8_t>& from, double factor,
                       const ImageView<std::uint8_t>& to) {
  const shape::ResizeWay way = shape::way_of(from, factor, to.width, to.height);
  const double scale = 1 / factor;
  each_strip(to.width, to.height, [&](int x, int first, int end) {
    const auto column = shape::Between::of(x, from.width, scale, true);
    for (int y = first; y < end; ++y) {
      std::uint8_t& out = to.at(x, y);
      if (way == shape::ResizeWay::kHalf) {
        out = shape::half_pixel(from, x, y);
      } else if (way == shape::ResizeWay::kCopy) {
        out = from.at(x, y);
      } else {
        const auto row = shape::Between::of(y, from.height, scale, false);
        out = shape::between_pixels(from.row(row.first), from.row(row.second), column, row);
      }
    }
  });
}

__global__ void __launch_bounds__(kThreads)
    first_level(const __grid_constant__ ShapeWork work,
                const __grid_constant__ ShapeFrames frames) {
  each_job(work, [&](int job) {
    const auto clear = [&](auto* first, int count) {
      for (int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x); i < count;
           i += static_cast<int>(gridDim.x) * kThreads)
        unset(first[i]);
    };
    clear(work.points_of(job, 1), work.rounds * work.landmarks);
    clear(work.found_of(job, 0), work.rounds * work.landmarks);
    const FaceJob& of = work.jobs[job];
    const ImageView<const std::uint8_t>& luma = frames.frame[of.frame].luma;
    const ImageView<const std::uint8_t> part{luma.row(of.window.y) + of.window.x, of.window.w,
                                             of.window.h, luma.stride};
    resize(part, of.scale, work.level(job, 0));
  });
}

/// Levels above the first of ShapePyramid::kLinear, a block's z each.
__global__ void __launch_bounds__(kThreads) other_levels(const __grid_constant__ ShapeWork work) {
  const int level = 1 + static_cast<int>(blockIdx.z);
  each_job(work, [&](int job) {
    resize(work.level(job, 0), 1.0 / (1 << level), work.level(job, level));
  });
}

/// The strongest edge of a level of a face, which is one of `levels`.
__device__ void find_strongest(const ShapeWork& work, int job, int level, int levels) {
  const texture::PatchPixels pixels{work.level(job, level)};
  const int width = pixels.picture.width, height = pixels.picture.height;
  int strongest = 0;
  each_strip(width, height, [&](int x, int first, int end) {
    // texture::sobel_square() by parts of rows: right less left, and all three together.
    const auto across = [&](int y) { return pixels.at(x + 1, y) - pixels.at(x - 1, y); };
    const auto together = [&](int y) {
      return pixels.at(x - 1, y) + 2 * pixels.at(x, y) + pixels.at(x + 1, y);
    };
    int across_0 = across(first - 1), across_1 = across(first);
    int together_0 = together(first - 1), together_1 = together(first);
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const int y = first + k;
      if (y >= end) break;
      const int across_2 = across(y + 1), together_2 = together(y + 1);
      const int dx = across_0 + 2 * across_1 + across_2, dy = together_2 - together_0;
      strongest = max(strongest, dx * dx + dy * dy);
      across_0 = across_1;
      across_1 = across_2;
      together_0 = together_1;
      together_1 = together_2;
    }
  });
#pragma unroll
  for (int apart = kWarp / 2; apart > 0; apart /= 2)
    strongest = max(strongest, __shfl_xor_sync(kAllLanes, strongest, apart));
  if (threadIdx.x % kWarp == 0 && strongest > 0)
    atomicMax(work.strongest + job * levels + level, strongest);
}

/// A level of ShapePyramid::kGaussian from the one before: gaussian_down(). Blocks of another z
/// than 0 look for the strongest edge of that.
__global__ void __launch_bounds__(kThreads)
    next_level(const __grid_constant__ ShapeWork work, int level, int levels) {
  each_job(work, [&](int job) {
    if (blockIdx.z > 0) return find_strongest(work, job, level - 1, levels);
    const ImageView<const std::uint8_t> from = work.level(job, level - 1);
    const ImageView<std::uint8_t> to = work.level(job, level);
    each_strip(to.width, to.height, [&](int x, int first, int end) {
      int columns[5];
#pragma unroll
      for (int u = 0; u < 5; ++u) columns[u] = reflect_101(2 * x + u - 2, from.width);
      const auto along = [&](int y) {
        const std::uint8_t* const row = from.row(reflect_101(y, from.height));
        return row[columns[0]] + 4 * row[columns[1]] + 6 * row[columns[2]] + 4 * row[columns[3]] +
               row[columns[4]];
      };
      int a = along(2 * first - 2), b = along(2 * first - 1), c = along(2 * first);
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        const int y = first + k;
        if (y >= end) break;
        const int d = along(2 * y + 1), e = along(2 * y + 2);
        to.at(x, y) = static_cast<std::uint8_t>((a + 4 * b + 6 * c + 4 * d + e + 128) >> 8);
        a = c;
        b = d;
        c = e;
      }
    });
  });
}

/// The strongest edges of levels from `first` on, a block's z each.
__global__ void __launch_bounds__(kThreads)
    strongest_edges(const __grid_constant__ ShapeWork work, int first, int levels) {
  each_job(work, [&](int job) {
    find_strongest(work, job, first + static_cast<int>(blockIdx.z), levels);
  });
}

}  // namespace

Status make_levels(const DeviceShape& model, const SearchShape& search, const ShapeWork& work,
                   const ShapeFrames& frames, Launcher then) {
  const ShapeTables& t = model.tables();
  const Launcher launch = then.early(search.early);
  const auto levels = static_cast<unsigned>(t.levels);
  const auto shape = [](unsigned z) {
    return LaunchShape{dim3(kStripsAtOnce, kFacesAtOnce, z), dim3(kThreads)};
  };
  CUFACE_TRY(launch("shape: level 0", first_level, shape(1), work, frames));
  if (t.pyramid == ShapePyramid::kLinear && levels > 1)
    CUFACE_TRY(launch("shape: levels", other_levels, shape(levels - 1), work));
  const bool with_edges = model.has_edges();
  int first = 0;
  for (; t.pyramid == ShapePyramid::kGaussian && first + 1 < t.levels; ++first)
    CUFACE_TRY(
        launch("shape: level", next_level, shape(with_edges ? 2 : 1), work, first + 1, t.levels));
  if (!with_edges) return {};
  return launch("shape: edges", strongest_edges, shape(levels - static_cast<unsigned>(first)), work,
                first, t.levels);
}

}  // namespace cuface::cuda
