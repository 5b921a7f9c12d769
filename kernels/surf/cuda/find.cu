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

/// A place of a tile that may be a maximum: its layer, row and column.
struct Place {
  std::uint32_t layer : 16, row : 8, column : 8;
};
/// The determinants of a maximum and around it, and its trace.
struct Maximum {
  float around[kNeighbours], trace;
  Place place;
};
/// Places that a block has listed, and maxima that a warp has, until they are made keypoints.
constexpr unsigned kMostPlaces = 192;
constexpr int kMostMaxima = 8;

/// What a block has of its tile.
struct Tile {
  float determinants[kAtOnce][kAround][kAround];  ///< of layer i % kAtOnce
  Maximum maxima[kWarps][kMostMaxima];
  Place places[kMostPlaces];
  std::uint32_t place_count;  ///< of those that found no room, too
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

/// For a whole warp: whether a place is a maximum, by exact determinants.
__device__ __attribute__((noinline)) bool is_maximum(const Layer* layers,
                                                     const ImageView<const std::uint32_t>& sums,
                                                     int x, int y, float threshold, Maximum& out) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  Answer answer{-FLT_MAX, 0};
  // A lane a neighbour.
  if (lane < kNeighbours) {
    const Layer& layer = layers[lane / 9];
    const int u = x + lane % 3 - 1, v = y + lane / 3 % 3 - 1;
    answer = layer.has(u, v) ? answer_at(layer, layer.corner(sums, u, v)) : Answer{0, 0};
  }
  const float centre = __shfl_sync(kAllLanes, answer.determinant, kNeighbours / 2);
  const bool is_beaten = lane != kNeighbours / 2 && !(centre > answer.determinant);
  if (__any_sync(kAllLanes, is_beaten) || !(centre > threshold)) return false;
  if (lane < kNeighbours) out.around[lane] = answer.determinant;
  if (lane == kNeighbours / 2) out.trace = answer.trace;
  return true;
}

/// For each lane: lists the keypoint of a maximum, if it is one.
__device__ __attribute__((noinline)) void list(const Maximum& maximum, const TilePlace& place,
                                               const ImageView<const std::uint32_t>& sums,
                                               int octave, bool upright, const Tables& tables,
                                               const BlobWork& work) {
  ScaleNeighbours around;
#pragma unroll
  for (int i = 0; i < kNeighbours; ++i) around.at[i / 9][i / 3 % 3][i % 3] = maximum.around[i];
  const Layer* layers = place.layers + maximum.place.layer;
  Keypoint k;
  if (keypoint_at(layers[0].scale, layers[-1].scale.size, around, octave,
                  place.left + static_cast<int>(maximum.place.column),
                  place.top + static_cast<int>(maximum.place.row), k) &&
      has_direction(sums, upright, tables, k)) {
    const std::uint32_t i = atomicAdd(work.found_count, 1u);
    work.found[i] = {k.x, k.y, k.size, k.response, k.octave, cuface::surf::sign_of(maximum.trace)};
    work.responses[i] = k.response;
  }
}

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
  // A warp takes a place at a time, but its lanes make keypoints at once.
  Maximum* maxima = tile.maxima[warp];
  int held = 0;
  const auto list_held = [&] {
    __syncwarp();
    if (lane < held) list(maxima[lane], place, sums, number, upright, tables, work);
    __syncwarp();
    held = 0;
  };
  const auto examine = [&](const Place& which) {
    if (!is_maximum(place.layers + which.layer - 1, sums,
                    place.left + static_cast<int>(which.column),
                    place.top + static_cast<int>(which.row), octaves.threshold, maxima[held]))
      return;
    if (lane == 0) maxima[held].place = which;
    if (++held == kMostMaxima) list_held();
  };
  if (threadIdx.x == 0) tile.place_count = 0;
  if (place.of_copy) copy(place, sums, tile);
  __syncthreads();
  for (int above = 1; above <= last; ++above) {
    if (above < last) fill(place, sums, above, tile);
    __syncthreads();
    const int i = above - 1;
    if (i == 0) continue;
    const float(&own)[kAround][kAround] = tile.determinants[i % kAtOnce];
    float greatest = own[first][lane];
#pragma unroll
    for (int r = 1; r < kRowsOfWarp; ++r) greatest = fmaxf(greatest, own[first + r][lane]);
    if (!__any_sync(kAllLanes, greatest > octaves.threshold - kTolerance)) continue;
    float most[kRowsOfWarp];
#pragma unroll
    for (float& value : most) value = -FLT_MAX;
#pragma unroll 1
    for (int l = max(i - 1, 1); l <= min(above, last - 1); ++l)
      take_greatest(tile.determinants[l % kAtOnce], first, most);
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
      const unsigned those_here = __ballot_sync(kAllLanes, may);
      if (those_here == 0) continue;
      unsigned at = 0;
      if (lane == 0) at = atomicAdd(&tile.place_count, static_cast<unsigned>(__popc(those_here)));
      at = __shfl_sync(kAllLanes, at, 0);
      const auto place_of = [&](int column) {
        return Place{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(row),
                     static_cast<std::uint32_t>(column)};
      };
      const unsigned own_at = at + static_cast<unsigned>(__popc(those_here & ((1u << lane) - 1)));
      if (may && own_at < kMostPlaces) tile.places[own_at] = place_of(lane);
      // Those that there is no room for.
      for (unsigned rest = __ballot_sync(kAllLanes, may && own_at >= kMostPlaces); rest;
           rest &= rest - 1)
        examine(place_of(__ffs(static_cast<int>(rest)) - 1));
    }
  }
  __syncthreads();
  const unsigned listed = min(tile.place_count, kMostPlaces);
  for (unsigned at = static_cast<unsigned>(warp); at < listed; at += kWarps)
    examine(tile.places[at]);
  list_held();
}

}  // namespace

Status find(const Octaves& octaves, const Layer* layers, ImageView<const std::uint32_t> sums,
            bool upright, const Tables& tables, const BlobWork& work, Launcher launch) {
  return launch("finding blobs", find_kernel, {octaves.tiles, kThreads}, octaves, layers, sums,
                upright, tables, work);
}

}  // namespace cuface::cuda::surf
