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
static_assert(kAround == kWarp && kAround % kWarps == 0 && kCopyPitch % kWarp == 0);
/// Of a multiprocessor. More leave so few registers that numbers are on the stack.
constexpr int kBlocksAtOnce = 4;
/// Layers whose determinants are there: three, and the one that is being computed.
constexpr int kAtOnce = 4;
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
/// Copied ones, `further` words from there: of a constant number the compiler makes a part of the
/// load, so that all rows of a thread share their addresses.
struct CopiedCorner {
  const std::uint32_t* corner;
  int further;
  __device__ std::uint32_t operator()(std::int32_t words) const {
    return (corner + words)[further];
  }
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

/// What a block has of its tile.
struct Tile {
  float determinants[kAtOnce][kAround][kAround];  ///< of layer i % kAtOnce
  float of_lanes[kWarps][kWarp];
  std::uint32_t copy[kCopyPitch * kCopyPitch];
};

/// Where a block's tile is, and from what its determinants are computed.
struct TilePlace {
  const Layer *layers, *of_copy;  ///< of the octave; the latter null, where no sums are copied
  int left, top;                  ///< of determinants
  int reach;                      ///< of the copy around these, without its rim

  __device__ const std::uint32_t* corner(const Tile& tile, const Layer& layer, int row) const {
    const int around = reach - layer.scale.margin;
    return tile.copy + (row + around) * kCopyPitch + static_cast<int>(threadIdx.x) % kWarp + around;
  }
  __device__ const Layer& layer(int i) const { return (of_copy ? of_copy : layers)[i]; }
  /// Of layer() at a row, and the lane's column; 0 where there is none. Within kTolerance.
  __device__ float determinant(const Tile& tile, const ImageView<const std::uint32_t>& sums,
                               const Layer& layer, int row) const {
    const int x = left + static_cast<int>(threadIdx.x) % kWarp, y = top + row;
    if (!layer.has(x, y)) return 0;
    if (of_copy) return determinant_near(layer, CopiedCorner{corner(tile, layer, row), 0});
    const std::uint32_t* at = layer.corner(sums, x, y);
    return layer.scale.size <= kMostWholeSize ? determinant_near(layer, GlobalCorner{at})
                                              : answer_at(layer, at).determinant;
  }
};

/// For all threads: the sums that the determinants of a tile are made of. Those of the last layer
/// are asked for inside of its rim only.
__device__ void copy(const TilePlace& place, const ImageView<const std::uint32_t>& sums,
                     Tile& tile) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp;
  constexpr int kColumns = kCopyPitch / kWarp;
  int columns[kColumns];
#pragma unroll
  for (int i = 0; i < kColumns; ++i)
    columns[i] = min(max(place.left - place.reach + lane + i * kWarp, 0), sums.width - 1);
#pragma unroll 8
  for (int row = warp; row < kCopyPitch; row += kWarps) {
    const std::uint32_t* from =
        sums.row(min(max(place.top - place.reach + row, 0), sums.height - 1));
#pragma unroll
    for (int i = 0; i < kColumns; ++i)
      tile.copy[row * kCopyPitch + lane + i * kWarp] = __ldg(from + columns[i]);
  }
}

/// For all threads: the determinants of a layer.
__device__ void fill(const TilePlace& place, const ImageView<const std::uint32_t>& sums, int i,
                     Tile& tile) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp;
  float(&out)[kAround][kAround] = tile.determinants[i % kAtOnce];
  const Layer layer = place.layer(i);
  if (!place.of_copy) {
    for (int row = warp; row < kAround; row += kWarps)
      out[row][lane] = place.determinant(tile, sums, layer, row);
    return;
  }
  const std::uint32_t* corner = place.corner(tile, layer, warp);
#pragma unroll
  for (int r = 0; r < kAround / kWarps; ++r) {
    const int row = warp + r * kWarps;
    const float determinant =
        determinant_near(layer, CopiedCorner{corner, r * kWarps * kCopyPitch});
    out[row][lane] = layer.has(place.left + lane, place.top + row) ? determinant : 0;
  }
}

/// Rows of a tile that a warp has, one behind the other.
constexpr int kRowsOfWarp = kAround / kWarps;

/// For a whole warp: takes the greatest of the nine places around each of the lane's into `most`.
__device__ inline void take_greatest(const float (&of)[kAround][kAround], int first,
                                     float (&most)[kRowsOfWarp]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto of_row = [&](int row) {
    const float own = of[row][lane];
    return fmaxf(own,
                 fmaxf(__shfl_up_sync(kAllLanes, own, 1), __shfl_down_sync(kAllLanes, own, 1)));
  };
  float above = of_row(max(first - 1, 0)), own = of_row(first);
#pragma unroll
  for (int r = 0; r < kRowsOfWarp; ++r) {
    const float below = of_row(min(first + r + 1, kAround - 1));
    most[r] = fmaxf(most[r], fmaxf(own, fmaxf(above, below)));
    above = own;
    own = below;
  }
}

/// A block a tile. Layers between the first and the last of an octave have determinants at all
/// places, these two only beside maxima of their neighbour.
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    find_kernel(const __grid_constant__ Octaves octaves, const Layer* all,
                ImageView<const std::uint32_t> sums, bool upright,
                const __grid_constant__ Tables tables, const __grid_constant__ BlobWork work) {
  __shared__ Tile tile;
  // Those of the last octaves take the longest, so they are the first.
  const std::uint32_t part = octaves.tiles - 1 - blockIdx.x;
  const int number = part_of<&Octave::first_tile>(octaves.all, octaves.count, part);
  const Octave octave = octaves.all[number];
  const int index = static_cast<int>(part - octave.first_tile);
  const int last = octaves.layers + 1;
  TilePlace place;
  place.layers = all + number * (last + 1);
  place.of_copy = number == 0 && place.layers[last].scale.size <= kMostCopiedSize
                      ? all + octaves.count * (last + 1)
                      : nullptr;
  place.left = index % octave.tiles_across * kTile - 1;
  place.top = index / octave.tiles_across * kTile - 1;
  place.reach = place.layers[last].scale.margin - 1;
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp;
  const int first = warp * kRowsOfWarp;
  if (place.of_copy) copy(place, sums, tile);
  __syncthreads();
  for (int above = 1; above <= last; ++above) {
    if (above < last) fill(place, sums, above, tile);
    __syncthreads();
    const int i = above - 1;
    if (i == 0) continue;
    float most[kRowsOfWarp];
#pragma unroll
    for (float& value : most) value = -FLT_MAX;
#pragma unroll 1
    for (int l = max(i - 1, 1); l <= min(above, last - 1); ++l)
      take_greatest(tile.determinants[l % kAtOnce], first, most);
    const float(&own)[kAround][kAround] = tile.determinants[i % kAtOnce];
    const int least = place.layers[above].scale.margin + 1;
    const int x = place.left + lane;
    const bool is_column = lane > 0 && lane <= kTile && x >= least && x < octave.columns - least;
    unsigned those = 0;  // a bit a row
#pragma unroll
    for (int r = 0; r < kRowsOfWarp; ++r) {
      const int row = first + r, y = place.top + row;
      if (row > 0 && row <= kTile && y >= least && y < octave.rows - least &&
          own[row][lane] > octaves.threshold - kTolerance &&
          own[row][lane] + 2 * kTolerance > most[r])
        those |= is_column << r;
    }
    for (int r = 0; r < kRowsOfWarp; ++r) {
      bool may = (those >> r & 1) != 0;
      if (!__any_sync(kAllLanes, may)) continue;
      const int row = first + r;
      // Of these few, the determinants of the layers that have none yet. Most that are greater
      // around are so at the place itself.
      for (const int other : {i - 1, above})
        if (may && (other == 0 || other == last))
          may = own[row][lane] + 2 * kTolerance >
                place.determinant(tile, sums, place.layer(other), row);
      for (unsigned rest = __ballot_sync(kAllLanes, may); rest; rest &= rest - 1)
        examine(place.layers + i - 1, sums,
                {place.left + __ffs(static_cast<int>(rest)) - 1, place.top + row}, number,
                octaves.threshold, upright, tables, tile.of_lanes[warp], work);
    }
  }
}

}  // namespace

Status find(const Octaves& octaves, const Layer* layers, ImageView<const std::uint32_t> sums,
            bool upright, const Tables& tables, const BlobWork& work, Launcher launch) {
  return launch("finding blobs", find_kernel, {octaves.tiles, kThreads}, octaves, layers, sums,
                upright, tables, work);
}

}  // namespace cuface::cuda::surf
