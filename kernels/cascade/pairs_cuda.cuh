// The first stages of a search by pairs of windows, one above the other.
#pragma once

#include <cstdint>

#include "kernels/cascade/late_cuda.cuh"
#include "kernels/cascade/pair_stages_cuda.cuh"
#include "kernels/cascade/tile_cuda.cuh"

namespace cuface::cuda {

constexpr unsigned kPairThreads = 256;
constexpr int kPairBlocks = 3;  // per processor

/// A tile by pairs of rows of windows. A pair of windows is that row times kTileColumns, plus its
/// column.
struct PairTile {
  // A pair in a list: which of its windows are alive, and its number.
  static constexpr int kUpper = 1 << 14, kLower = 1 << 15, kPair = kUpper - 1;
  static constexpr int kRowPairs = kTileColumns / kWarp;  // of a row, per thread of a warp

  const TileTable& table;
  const CascadeView& by_patch;  ///< bound to a window alone
  const PairNodes& nodes;
  const Output& out;
  Tile tile;
  int step, stride, layout_word;
  ImageView<const std::uint8_t> pixels;  ///< the tile's first
  Two<float>* norm;                      ///< per pair
  std::uint16_t* first_list;             ///< behind the norms; each stage has one of two in turns

  __device__ PairTile(const TileTable& table, const CascadeView& by_patch, const PairNodes& nodes,
                      const ImageView<const std::uint8_t>& atlas, const Output& out,
                      const Tile& tile)
      : table(table),
        by_patch(by_patch),
        nodes(nodes),
        out(out),
        tile(tile),
        step(tile.level->step),
        stride(table.stride[step - 1]),
        layout_word((step - 1) * PairNodes::kWords),
        pixels(atlas),
        norm(reinterpret_cast<Two<float>*>(tile_sums + table.list_offset[step - 1])),
        first_list(reinterpret_cast<std::uint16_t*>(norm + list_size())) {
    pixels.data = atlas.row(tile.level->y + tile.y * step) + tile.level->x + tile.x * step;
  }
  __device__ int list_size() const { return table.rows[step - 1] * kTileColumns / 2; }
  __device__ int row_pairs() const { return (tile.rows + 1) / 2; }
  __device__ std::uint16_t* list(int s) const { return first_list + s % 2 * list_size(); }
  /// Bytes from the first sum.
  __device__ int corner(int pair) const {
    return (pair / kTileColumns * 2 * step * stride + pair % kTileColumns) * kWordBytes;
  }
  /// A window's first pixel, in the tile.
  __device__ int left(int pair) const { return pair % kTileColumns * step; }
  __device__ int top(int pair, int half) const { return (pair / kTileColumns * 2 + half) * step; }
  __device__ LateWindow late_window(int s, int pair, int half, float window_norm) const {
    return {static_cast<std::uint16_t>(tile.level - table.levels), static_cast<std::uint16_t>(s),
            static_cast<std::uint16_t>(tile.x * step + left(pair)),
            static_cast<std::uint16_t>(tile.y * step + top(pair, half)), window_norm};
  }
  /// By the definition, for a whole warp.
  __device__ bool passes(int s, int pair, int half, float window_norm) const {
    if (threadIdx.x % kWarp == 0) atomicAdd(&out.counts->exact, 1u);
    return passes_by_pixels(by_patch, by_patch.stages[s], pixels.row(top(pair, half)) + left(pair),
                            pixels.stride, table.width + 1, window_norm);
  }
};

/// The sums of the tile's pixels, and in the place of norms the sums of squares that they need.
__device__ inline void make_sums_and_squares(const PairTile& t) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int width = (t.tile.columns - 1) * t.step + t.table.width;
  const int height = (t.tile.rows - 1) * t.step + t.table.height;
  const auto& border = t.table.border[t.step - 1];
  make_pair_sums<true>(t.pixels, width, height, t.step, t.stride);
  for (int j = warp; j < t.row_pairs(); j += static_cast<int>(blockDim.x) / kWarp)
    for (int x = lane; x < kTileColumns; x += kWarp) {
      const int pair = j * kTileColumns + x, at = t.corner(pair);
      const auto squares = [&](int half) {
        return __uint_as_float(inner_sum(at + half * t.step * t.stride * kWordBytes, border));
      };
      t.norm[pair] = {squares(0), 2 * j + 1 < t.tile.rows ? squares(1) : 0.0f};
    }
  __syncthreads();
  make_pair_sums<false>(t.pixels, width, height, t.step, t.stride);
}

/// The norms of a pair from its sums of squares.
__device__ inline Two<float> norms_of(const PairTile& t, int at, const Two<float>& squares) {
  const auto& border = t.table.border[t.step - 1];
  const auto& middle = t.table.middle[t.step - 1];
  const int area = (t.table.width - 2) * (t.table.height - 2);
  // Half of a window's pixels each: all of them are too many for 16 bits.
  const std::uint32_t left = *pointer(at, middle[0]), right = *pointer(at, middle[1]);
  const std::uint32_t above = *pointer(at, border[0]) - *pointer(at, border[1]) - left + right;
  const std::uint32_t below = left - right - *pointer(at, border[2]) + *pointer(at, border[3]);
  return {inverse_norm(area, static_cast<int>((above & 0xffff) + (below & 0xffff)),
                       __float_as_uint(squares.upper)),
          inverse_norm(area, static_cast<int>((above >> 16) + (below >> 16)),
                       __float_as_uint(squares.lower))};
}

/// All windows through the first stage, whether or not they will turn out to be skipped.
__device__ inline void take_first_stage(const PairTile& t, Block& block) {
  constexpr int kRowPairs = PairTile::kRowPairs;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const PairStage& stage = t.nodes.stage[0];
  for (int j = static_cast<int>(threadIdx.x) / kWarp; __any_sync(kAllLanes, j < t.row_pairs());
       j += static_cast<int>(blockDim.x) / kWarp) {
    std::uint32_t at[kRowPairs];
    Two<float> norm[kRowPairs];
    Two<std::int32_t> sum[kRowPairs];
#pragma unroll
    for (int u = 0; u < kRowPairs; ++u) {
      const int pair = j * kTileColumns + lane + u * kWarp;
      at[u] = u == 0 ? shared_address(t.corner(pair)) : at[0] + u * kWarp * kWordBytes;
      norm[u] = t.norm[pair] = norms_of(t, t.corner(pair), t.norm[pair]);
    }
    add_pair_leaves(t.nodes, t.layout_word, stage, 0, 1, at, norm, sum);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      std::uint64_t failed = 0, passed = 0;
#pragma unroll
      for (int u = 0; u < kRowPairs; ++u) {
        const float window_norm = half ? norm[u].lower : norm[u].upper;
        const std::int32_t window_sum = half ? sum[u].lower : sum[u].upper;
        const bool live = lane + u * kWarp < t.tile.columns && 2 * j + half < t.tile.rows &&
                          window_norm != 0.0f;  // 0: flat
        const unsigned all = __ballot_sync(kAllLanes, live);
        unsigned pass = __ballot_sync(kAllLanes, live && window_sum >= stage.passes);
        unsigned open = __ballot_sync(
            kAllLanes, live && window_sum >= stage.fails && window_sum < stage.passes);
        for (; open != 0; open &= open - 1) {
          const int who = __ffs(static_cast<int>(open)) - 1;
          if (t.passes(0, j * kTileColumns + u * kWarp + who, half,
                       __shfl_sync(kAllLanes, window_norm, who)))
            pass |= 1u << who;
        }
        passed |= static_cast<std::uint64_t>(pass) << (u * kWarp);
        failed |= static_cast<std::uint64_t>(all & ~pass) << (u * kWarp);
      }
      if (lane == 0) {
        block.failed[2 * j + half] = failed;
        block.passed[2 * j + half] = passed;
      }
    }
  }
  __syncthreads();
}

/// Lists the pairs of which a window has passed the first stage and is not skipped.
__device__ inline void list_pairs(const PairTile& t, Block& block) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int j = static_cast<int>(threadIdx.x) / kWarp; __any_sync(kAllLanes, j < t.row_pairs());
       j += static_cast<int>(blockDim.x) / kWarp) {
    const std::uint64_t upper = block.passed[2 * j], lower = block.passed[2 * j + 1];
    const std::uint64_t any = upper | lower;
    if (any == 0) continue;
    std::uint32_t at = 0;
    if (lane == 0) {
      at = atomicAdd(&block.listed[1], static_cast<std::uint32_t>(__popcll(any)));
      atomicAdd(&block.windows, static_cast<std::uint32_t>(__popcll(upper) + __popcll(lower)));
    }
    at = __shfl_sync(kAllLanes, at, 0);
    for (int x = lane; x < kTileColumns; x += kWarp)
      if (any >> x & 1)
        t.list(1)[at + static_cast<std::uint32_t>(__popcll(any & ((std::uint64_t{1} << x) - 1)))] =
            static_cast<std::uint16_t>(j * kTileColumns + x +
                                       (upper >> x & 1 ? PairTile::kUpper : 0) +
                                       (lower >> x & 1 ? PairTile::kLower : 0));
  }
  __syncthreads();
}

/// Lists the windows of pairs, a pair a thread of a whole warp, that pass stage s by their sums.
__device__ inline void keep_pairs(const PairTile& t, int s, int entry, const Two<float>& norm,
                                  const Two<std::int32_t>& sum, std::uint32_t* next_count) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const PairStage& stage = t.nodes.stage[s];
  int stays = entry & PairTile::kPair;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int bit = half ? PairTile::kLower : PairTile::kUpper;
    const bool live = (entry & bit) != 0;
    const std::int32_t window_sum = half ? sum.lower : sum.upper;
    if (live && window_sum >= stage.passes) stays |= bit;
    // What the integers do not decide is a late window, if there is room.
    unsigned open =
        __ballot_sync(kAllLanes, live && window_sum >= stage.fails && window_sum < stage.passes);
    for (; open != 0; open &= open - 1) {
      const int who = __ffs(static_cast<int>(open)) - 1;
      const int pair = __shfl_sync(kAllLanes, entry & PairTile::kPair, who);
      const float window_norm = __shfl_sync(kAllLanes, half ? norm.lower : norm.upper, who);
      int place = 0;
      if (lane == 0) place = t.out.late_places(1);
      place = __shfl_sync(kAllLanes, place, 0);
      if (place >= 0) {
        if (lane == 0) t.out.late[place] = t.late_window(s, pair, half, window_norm);
      } else if (t.passes(s, pair, half, window_norm) && lane == who) {
        stays |= bit;
      }
    }
  }
  const unsigned all = __ballot_sync(kAllLanes, stays > PairTile::kPair);
  if (all == 0) return;
  std::uint32_t to = 0;
  if (lane == 0) to = atomicAdd(next_count, static_cast<std::uint32_t>(__popc(all)));
  to = __shfl_sync(kAllLanes, to, 0);
  if (all >> lane & 1)
    t.list(s + 1)[to + static_cast<std::uint32_t>(__popc(all & ((1u << lane) - 1)))] =
        static_cast<std::uint16_t>(stays);
}

/// Takes the `count` pairs in list(s) through stage s, a thread kPairs of them; those that stay are
/// in list(s + 1). Votes keep loops such that the compiler knows all threads of a warp to be at the
/// same node.
template <int kPairs>
__device__ void take_pairs(const PairTile& t, int s, int count, std::uint32_t* next_count) {
  const int threads = static_cast<int>(blockDim.x);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const PairStage& stage = t.nodes.stage[s];
  for (int first = (static_cast<int>(threadIdx.x) - lane) * kPairs;
       __any_sync(kAllLanes, first < count); first += threads * kPairs) {
    int entry[kPairs];
    std::uint32_t at[kPairs];
    Two<float> norm[kPairs];
    Two<std::int32_t> sum[kPairs];
#pragma unroll
    for (int u = 0; u < kPairs; ++u) {
      const int i = first + u * kWarp + lane;
      entry[u] = t.list(s)[min(i, count - 1)];
      const int pair = entry[u] & PairTile::kPair;
      if (i >= count) entry[u] = 0;
      at[u] = shared_address(t.corner(pair));
      norm[u] = t.norm[pair];
    }
    add_pair_leaves(t.nodes, t.layout_word, stage, 0, 1, at, norm, sum);
#pragma unroll
    for (int u = 0; u < kPairs; ++u) keep_pairs(t, s, entry[u], norm[u], sum[u], next_count);
  }
  __syncthreads();
}

/// The same for at most kFewPairs: warps share the trees of the same pairs, and add up in `sums`,
/// which are 0 between.
constexpr int kFewPairs = 128;
__device__ inline void take_few_pairs(const PairTile& t, int s, int count, Two<std::int32_t>* sums,
                                      std::uint32_t* next_count) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  const int groups = (count - 1) / kWarp + 1, slices = warps / groups;
  for (int task = warp; __any_sync(kAllLanes, task < groups * slices); task += warps) {
    const int i = task % groups * kWarp + lane;
    const int pair = t.list(s)[min(i, count - 1)] & PairTile::kPair;
    const std::uint32_t at[1] = {shared_address(t.corner(pair))};
    const Two<float> norm[1] = {t.norm[pair]};
    Two<std::int32_t> sum[1];
    add_pair_leaves(t.nodes, t.layout_word, t.nodes.stage[s], task / groups, slices, at, norm, sum);
    if (i >= count) continue;
    atomicAdd(&sums[i].upper, sum[0].upper);
    atomicAdd(&sums[i].lower, sum[0].lower);
  }
  __syncthreads();
  for (int first = warp * kWarp; __any_sync(kAllLanes, first < count); first += warps * kWarp) {
    const int i = min(first + lane, count - 1);
    const int entry = t.list(s)[i];
    const Two<std::int32_t> sum = sums[i];
    __syncwarp();  // the last one may be read by several
    sums[i] = {0, 0};
    keep_pairs(t, s, first + lane < count ? entry : 0, t.norm[entry & PairTile::kPair], sum,
               next_count);
  }
  __syncthreads();
}

/// What is left in list(s) to the list of late windows; where that is full, here and now in the
/// place of the tile's sums.
__device__ inline void hand_over(const PairTile& t, const ImageView<const std::uint8_t>& atlas,
                                 int s, int count, Block& block) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  const int threads = static_cast<int>(blockDim.x);
  if (thread == 0) block.windows = 0;
  __syncthreads();
  if (s < t.table.stage_count) {
    for (int i = thread; i < count; i += threads) {
      const int entry = t.list(s)[i];
      atomicAdd(&block.windows, static_cast<std::uint32_t>(__popc(entry & ~PairTile::kPair)));
    }
    __syncthreads();
    if (thread == 0 && count > 0) {
      block.first_late = t.out.late_places(block.windows);
      block.windows = 0;
    }
    __syncthreads();
  }
  const int first_late = block.first_late;
  for (int first = thread - lane; first < count; first += threads) {
    const int entry = first + lane < count ? t.list(s)[first + lane] : 0;
    const int pair = entry & PairTile::kPair;
    const Two<float> norm = t.norm[pair];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const bool mine = (entry & (half ? PairTile::kLower : PairTile::kUpper)) != 0;
      const float window_norm = half ? norm.lower : norm.upper;
      const LateWindow window = t.late_window(s, pair, half, window_norm);
      if (s == t.table.stage_count) {
        if (mine) t.out.add(t.table, *t.tile.level, window.x, window.y);
        continue;
      }
      if (first_late >= 0) {
        if (mine) t.out.late[first_late + static_cast<int>(atomicAdd(&block.windows, 1u))] = window;
        continue;
      }
      for (unsigned alive = __ballot_sync(kAllLanes, mine); alive != 0; alive &= alive - 1) {
        const int who = __ffs(static_cast<int>(alive)) - 1;
        search_late(t.table, t.by_patch, atlas,
                    t.late_window(s, __shfl_sync(kAllLanes, pair, who), half,
                                  __shfl_sync(kAllLanes, window_norm, who)),
                    thread / kWarp * (t.table.width + 1) * (t.table.height + 1), t.out);
      }
    }
  }
}

/// A block a tile: the first stages, with lists of pairs. What passes them goes to the list of late
/// windows.
__global__ void __launch_bounds__(kPairThreads, kPairBlocks)
    pairs_kernel(const __grid_constant__ TileTable table,
                 const __grid_constant__ CascadeView by_patch,
                 const __grid_constant__ PairNodes nodes, ImageView<const std::uint8_t> pixels,
                 unsigned long long* skips, const __grid_constant__ Output out,
                 const std::int32_t* run, const Band* band) {
  if (idle(run)) return;
  Tile tile = tile_at(table, blockIdx.x);
  if (band && !keep_band(tile, table, *band)) return;
  __shared__ Block block;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  if (thread < 3) block.listed[thread] = 0;
  if (thread == 0) block.windows = 0;
  __shared__ Two<std::int32_t> sums[kFewPairs];
  if (thread < kFewPairs) sums[thread] = {0, 0};
  const PairTile t(table, by_patch, nodes, pixels, out, tile);
  make_sums_and_squares(t);
  take_first_stage(t, block);
  drop_skipped(t.tile, skips, block);
  list_pairs(t, block);
  int s = 1, count = static_cast<int>(block.listed[1]);
  if (thread == 0 && count > 0) atomicAdd(&out.counts->listed, block.windows);
#pragma unroll 1
  for (; s < nodes.stage_count && __any_sync(kAllLanes, count > 0); ++s) {
    if (thread == 0) block.listed[(s + 2) % 3] = 0;
    std::uint32_t* next_count = &block.listed[(s + 1) % 3];
    if (__any_sync(kAllLanes, count > threads)) {
      take_pairs<2>(t, s, count, next_count);
    } else if (__any_sync(kAllLanes, count > kFewPairs)) {
      take_pairs<1>(t, s, count, next_count);
    } else {
      take_few_pairs(t, s, count, sums, next_count);
    }
    count = static_cast<int>(*next_count);
  }
  hand_over(t, pixels, s, count, block);
}

}  // namespace cuface::cuda
