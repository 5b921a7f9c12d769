#include <cfloat>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/surf/cuda/find.h"
#include "kernels/surf/cuda/orient.cuh"
#include "kernels/surf/layer.h"

namespace cuface::cuda::surf {
namespace {

using cuface::surf::Answer;
using cuface::surf::box_sum;
using cuface::surf::kMostWholeSize;
using cuface::surf::kTolerance;
using cuface::surf::ScaleNeighbours;

/// Determinants are those of the tile and a place around it: a warp's lanes are a row.
constexpr int kAround = kTile + 2, kWarps = 4, kThreads = kWarps * kWarp;
static_assert(kAround == kWarp && kAround % kWarps == 0);
/// Of a multiprocessor. More leave so few registers that numbers are on the stack.
constexpr int kBlocksAtOnce = 4;
/// Layers whose determinants are there at a time.
constexpr int kAtOnce = 3;
/// Of a place in three layers, its own determinant too.
constexpr int kNeighbours = 27;

/// At a wavelet's own corner, as LayerPlan::answer_at(). Few places need it: its registers should
/// not be those of all.
__device__ __attribute__((noinline)) Answer answer_at(const Layer& layer,
                                                      const std::uint32_t* corner) {
  const auto at = [&](std::int32_t words) { return __ldg(corner + words); };
  float xx[3], yy[3], xy[4];
  std::uint32_t above = at(layer.xx[0][0]), below = at(layer.xx[1][0]);
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t a = at(layer.xx[0][i + 1]), b = at(layer.xx[1][i + 1]);
    xx[i] = box_sum(above, a, below, b, layer.of_xx[i]);
    above = a;
    below = b;
  }
  std::uint32_t left = at(layer.yy[0][0]), right = at(layer.yy[0][1]);
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t a = at(layer.yy[i + 1][0]), b = at(layer.yy[i + 1][1]);
    yy[i] = box_sum(left, right, a, b, layer.of_yy[i]);
    left = a;
    right = b;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int x = i % 2 * 2, y = i / 2 * 2;
    xy[i] = box_sum(at(layer.xy[y][x]), at(layer.xy[y][x + 1]), at(layer.xy[y + 1][x]),
                    at(layer.xy[y + 1][x + 1]), layer.of_xy[i]);
  }
  return cuface::surf::answer_of(cuface::surf::added(xx), cuface::surf::added(yy),
                                 cuface::surf::added(xy));
}

/// Sums in device memory.
struct GlobalCorner {
  const std::uint32_t* corner;
  __device__ std::uint32_t operator()(std::int32_t words) const { return __ldg(corner + words); }
};
/// Copied ones: a block has one such array, so the compiler knows where it is.
struct CopiedCorner {
  const std::uint32_t* copy;
  int first;
  __device__ std::uint32_t operator()(std::int32_t words) const { return copy[first + words]; }
};

/// The same within kTolerance, of whole numbers; of wavelets of up to kMostWholeSize. at(words) is
/// the sum so far from their own corner.
template <typename Corner>
__device__ inline float determinant_near(const Layer& layer, const Corner& at) {
  std::uint32_t of_x[4], of_y[4], of_quarters[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    of_x[i] = at(layer.xx[1][i]) - at(layer.xx[0][i]);
    of_y[i] = at(layer.yy[i][1]) - at(layer.yy[i][0]);
    of_quarters[i] =
        (at(layer.xy[i][1]) - at(layer.xy[i][0])) - (at(layer.xy[i][3]) - at(layer.xy[i][2]));
  }
  const auto weighted = [](std::uint32_t sum, float weight) {
    return static_cast<float>(static_cast<std::int32_t>(sum)) * weight;
  };
  const auto second = [&](const std::uint32_t(&v)[4], float weight) {
    return weighted(v[3] - v[0] - 3 * (v[2] - v[1]), weight);
  };
  const float dxy = weighted((of_quarters[1] - of_quarters[0]) - (of_quarters[3] - of_quarters[2]),
                             layer.of_xy[0]);
  return cuface::surf::answer_of(second(of_x, layer.of_xx[0]), second(of_y, layer.of_yy[0]), dxy)
      .determinant;
}

/// A place of a tile that may be a maximum.
struct Place {
  int x, y;  ///< of the octave's grid
};

/// For a whole warp: lists the keypoint of a place of layers[1], if it is one.
__device__ __attribute__((noinline)) void examine(const Layer* layers,
                                                  const ImageView<const std::uint32_t>& sums,
                                                  Place place, int octave, float threshold,
                                                  bool upright, const Tables& tables,
                                                  float* of_lanes, const BlobWork& work) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  Answer answer{0, 0};
  // A lane a neighbour.
  if (lane < kNeighbours) {
    const Layer& layer = layers[lane / 9];
    const int x = place.x + lane % 3 - 1, y = place.y + lane / 3 % 3 - 1;
    if (layer.has(x, y)) answer = answer_at(layer, layer.corner(sums, x, y));
  }
  of_lanes[lane] = answer.determinant;
  const float trace = __shfl_sync(kAllLanes, answer.trace, kNeighbours / 2);
  __syncwarp();
  if (lane == 0) {
    ScaleNeighbours around;
    for (int i = 0; i < kNeighbours; ++i) around.at[i / 9][i / 3 % 3][i % 3] = of_lanes[i];
    Keypoint k;
    if (around.centre() > threshold && around.is_maximum() &&
        keypoint_at(layers[1].scale, layers[0].scale.size, around, octave, place.x, place.y, k) &&
        has_direction(sums, upright, tables, k))
      work.found[atomicAdd(work.found_count, 1u)] = {
          k.x, k.y, k.size, k.response, k.octave, cuface::surf::sign_of(trace)};
  }
  __syncwarp();
}

/// A block a tile.
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    find_kernel(const __grid_constant__ Octaves octaves, const Layer* all,
                ImageView<const std::uint32_t> sums, bool upright,
                const __grid_constant__ Tables tables, const __grid_constant__ BlobWork work) {
  __shared__ float determinants[kAtOnce][kAround][kAround];
  __shared__ float of_lanes[kWarps][kWarp];
  __shared__ std::uint32_t copy[kCopyPitch * kCopyPitch];
  const int number = part_of<&Octave::first_tile>(octaves.all, octaves.count, blockIdx.x);
  const Octave octave = octaves.all[number];
  const int tile = static_cast<int>(blockIdx.x - octave.first_tile);
  // Of the first determinant.
  const int left = tile % octave.tiles_across * kTile - 1,
            top = tile / octave.tiles_across * kTile - 1;
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp;
  const Layer* layers = all + number * (octaves.layers + 2);
  const bool copies = number == 0 && layers[octaves.layers + 1].scale.size <= kMostCopiedSize;
  const int reach = layers[octaves.layers + 1].scale.margin;
  if (copies)
    for (int row = warp; row < kCopyPitch; row += kWarps) {
      const std::uint32_t* from = sums.row(min(max(top - reach + row, 0), sums.height - 1));
      for (int column = lane; column < kCopyPitch; column += kWarp)
        copy[row * kCopyPitch + column] =
            __ldg(from + min(max(left - reach + column, 0), sums.width - 1));
    }
  __syncthreads();
  for (int i = 0; i < octaves.layers + 2; ++i) {
    const Layer layer = copies ? all[octaves.count * (octaves.layers + 2) + i] : layers[i];
    const int margin = layer.scale.margin;
    for (int row = warp; row < kAround; row += kWarps) {
      const int x = left + lane, y = top + row;
      float determinant = 0;
      if (layer.has(x, y)) {
        if (copies) {
          const int first = (row + reach - margin) * kCopyPitch + lane + reach - margin;
          determinant = determinant_near(layer, CopiedCorner{copy, first});
        } else if (layer.scale.size <= kMostWholeSize) {
          determinant = determinant_near(layer, GlobalCorner{layer.corner(sums, x, y)});
        } else {
          determinant = answer_at(layer, layer.corner(sums, x, y)).determinant;
        }
      }
      determinants[i % kAtOnce][row][lane] = determinant;
    }
    __syncthreads();
    const int least = margin + 1;  // the layer above decides
    for (int row = 1 + warp; i >= 2 && row <= kTile; row += kWarps) {
      const int x = left + lane, y = top + row;
      bool may = lane > 0 && lane <= kTile && x >= least && x < octave.columns - least &&
                 y >= least && y < octave.rows - least;
      const float(&own)[kAround][kAround] = determinants[(i - 1) % kAtOnce];
      may = may && own[row][lane] > octaves.threshold - kTolerance;
      if (!__any_sync(kAllLanes, may)) continue;
      if (may) {
        float most = -FLT_MAX;
        for (int l = 0; l < kAtOnce; ++l)
          for (int v = -1; v <= 1; ++v)
            for (int u = -1; u <= 1; ++u)
              most = fmaxf(most, determinants[(i + l) % kAtOnce][row + v][lane + u]);
        may = own[row][lane] + 2 * kTolerance > most;
      }
      for (unsigned rest = __ballot_sync(kAllLanes, may); rest; rest &= rest - 1)
        examine(layers + i - 2, sums, {left + __ffs(static_cast<int>(rest)) - 1, y}, number,
                octaves.threshold, upright, tables, of_lanes[warp], work);
    }
    __syncthreads();
  }
}

}  // namespace

Status find(const Octaves& octaves, const Layer* layers, ImageView<const std::uint32_t> sums,
            bool upright, const Tables& tables, const BlobWork& work, Launcher launch) {
  return launch("finding blobs", find_kernel, {octaves.tiles, kThreads}, octaves, layers, sums,
                upright, tables, work);
}

}  // namespace cuface::cuda::surf
