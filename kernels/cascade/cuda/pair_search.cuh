// The first stages of a search by pairs of windows, one above the other.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cascade/cuda/active.cuh"
#include "kernels/cascade/cuda/pair_stages.cuh"
#include "kernels/cascade/cuda/pair_tile.cuh"
#include "kernels/cascade/cuda/survivors.cuh"
#include "kernels/cascade/cuda/tile.cuh"

namespace cuface::cuda {

constexpr int kPairBlocks = 3;  // per processor

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

/// The windows of kCount * kWarp pairs of row j, from column `first` on, through the first stages.
/// For a whole warp.
template <bool kActive, int kCount>
__device__ __forceinline__ void take_dense_row(const PairTile& t, int j, int first,
                                               TileBlock& block) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  std::uint32_t at[kCount];
  Two<float> norm[kCount];
  Two<bool> live[kCount];
#pragma unroll
  for (int u = 0; u < kCount; ++u) {
    const int x = first + lane + u * kWarp, pair = j * kTileColumns + x;
    at[u] = u == 0 ? shared_address(t.corner(pair)) : at[0] + u * kWarp * kWordBytes;
    norm[u] = t.norm[pair] = norms_of(t, t.corner(pair), t.norm[pair]);
    const bool inside = x < t.tile.columns;
    live[u] = {inside && norm[u].upper != 0.0f,  // 0: flat
               inside && 2 * j + 1 < t.tile.rows && norm[u].lower != 0.0f};
    if (!kActive) continue;
    live[u].upper = live[u].upper && is_active(block, 2 * j, x);
    live[u].lower = live[u].lower && is_active(block, 2 * j + 1, x);
  }
  using Bits = std::conditional_t<kCount == 1, std::uint32_t, std::uint64_t>;
  const auto windows = [&](bool Two<bool>::*half) {
    Bits all = 0;
#pragma unroll
    for (int u = 0; u < kCount; ++u)
      all |= static_cast<Bits>(__ballot_sync(kAllLanes, live[u].*half)) << (u * kWarp);
    return all;
  };
  const auto write = [&](std::uint64_t* rows, Bits upper, Bits lower) {
    auto* to = reinterpret_cast<Bits*>(rows + 2 * j) + first / kWarp;
    if (lane > 0) return;
    to[0] = upper;
    to[sizeof(std::uint64_t) / sizeof(Bits)] = lower;
  };
  Bits upper = windows(&Two<bool>::upper), lower = windows(&Two<bool>::lower);
  write(block.failed, 0, 0);
#pragma unroll 1
  for (int s = 0; s < t.nodes.dense_stages && __any_sync(kAllLanes, (upper | lower) != 0); ++s) {
    const PairStage& stage = t.nodes.stage[s];
    Two<std::int32_t> sum[kCount];
    add_pair_leaves(t.stage_nodes, stage, 0, 1, at, norm, sum);
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        bool& mine = half ? live[u].lower : live[u].upper;
        const std::int32_t window_sum = half ? sum[u].lower : sum[u].upper;
        unsigned open = __ballot_sync(
            kAllLanes, mine && window_sum >= stage.fails && window_sum < stage.passes);
        mine = mine && window_sum >= stage.passes;
        for (; open != 0; open &= open - 1) {
          const int who = __ffs(static_cast<int>(open)) - 1;
          const bool passes =
              t.passes(s, j * kTileColumns + first + u * kWarp + who, half,
                       __shfl_sync(kAllLanes, half ? norm[u].lower : norm[u].upper, who));
          if (lane == who) mine = passes;
        }
      }
    const Bits upper_pass = windows(&Two<bool>::upper);
    const Bits lower_pass = windows(&Two<bool>::lower);
    if (s == 0) write(block.failed, upper & ~upper_pass, lower & ~lower_pass);
    upper = upper_pass;
    lower = lower_pass;
  }
  __syncwarp();  // all have asked block.passed which windows are on
  write(block.passed, upper, lower);
}

/// Takes all windows through the first stages, skipped or not. A warp takes a row of pairs, which
/// needs no list and reads without conflicts. Of the last rows it takes half a row, where there are
/// enough warps.
template <bool kActive>
__device__ void take_dense_stages(const PairTile& t, TileBlock& block) {
  constexpr int kRowPairs = PairTile::kRowPairs, kWarps = kPairThreads / kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int rows = t.row_pairs(), rest = rows % kWarps;
  const int whole = rest * kRowPairs <= kWarps ? rows - rest : rows;
  for (int j = warp; __any_sync(kAllLanes, j < whole); j += kWarps)
    take_dense_row<kActive, kRowPairs>(t, j, 0, block);
  const int last = whole + warp / kRowPairs;
  if (__any_sync(kAllLanes, last < rows))
    take_dense_row<kActive, 1>(t, last, warp % kRowPairs * kWarp, block);
  __syncthreads();
}

/// How many pairs of t.by_bank are of each bank of the shared memory: those whose sums begin there.
using BankCounts = std::uint32_t[kWarp];

/// A pair for the next stage. There are as many places for each bank as a tile has pairs of it.
__device__ inline void add_pair(const PairTile& t, BankCounts& counts, int entry) {
  const int bank = t.corner(entry & PairTile::kPair) / kWordBytes % kWarp;
  const std::uint32_t place =
      atomicAdd(&counts[bank], 1u) * kWarp + static_cast<std::uint32_t>(bank);
  t.by_bank[place] = static_cast<std::uint16_t>(entry);
}

/// Moves t.by_bank to t.list: each bank's first pair, then each bank's second and so on. So a warp
/// reads few from the same bank at once. `next` counts 0 then. Returns how many there are.
__device__ inline int list_pairs(const PairTile& t, const BankCounts& counts, BankCounts& next) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  __syncthreads();
  const int mine = static_cast<int>(counts[lane]);
  for (int i = warp; __any_sync(kAllLanes, i < mine); i += static_cast<int>(kPairThreads) / kWarp) {
    const int before = sum_of_warp(min(mine, i));
    const unsigned all = __ballot_sync(kAllLanes, i < mine);
    if (i < mine) t.list[before + __popc(all & ((1u << lane) - 1))] = t.by_bank[i * kWarp + lane];
  }
  if (warp == 0) next[lane] = 0;
  __syncthreads();
  return sum_of_warp(mine);
}

/// The pairs of which a window has passed the first stages and is not skipped.
__device__ inline void add_dense_pairs(const PairTile& t, BankCounts& counts, TileBlock& block) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int j = static_cast<int>(threadIdx.x) / kWarp; j < t.row_pairs();
       j += static_cast<int>(kPairThreads) / kWarp) {
    const std::uint64_t upper = block.passed[2 * j], lower = block.passed[2 * j + 1];
    if (lane == 0 && (upper | lower) != 0)
      atomicAdd(&block.windows, static_cast<std::uint32_t>(__popcll(upper) + __popcll(lower)));
    for (int x = lane; x < kTileColumns; x += kWarp)
      if ((upper | lower) >> x & 1)
        add_pair(t, counts,
                 j * kTileColumns + x + (upper >> x & 1 ? PairTile::kUpper : 0) +
                     (lower >> x & 1 ? PairTile::kLower : 0));
  }
}

/// Adds the windows of pairs, a pair a thread of a whole warp, that pass stage s by their sums.
__device__ inline void keep_pairs(const PairTile& t, int s, int entry, const Two<float>& norm,
                                  const Two<std::int32_t>& sum, BankCounts& next) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const PairStage& stage = t.nodes.stage[s];
  int stays = entry & PairTile::kPair;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int bit = half ? PairTile::kLower : PairTile::kUpper;
    const bool live = (entry & bit) != 0;
    const std::int32_t window_sum = half ? sum.lower : sum.upper;
    if (live && window_sum >= stage.passes) stays |= bit;
    // What the integers do not decide is a survivor, if there is room.
    unsigned open =
        __ballot_sync(kAllLanes, live && window_sum >= stage.fails && window_sum < stage.passes);
    for (; open != 0; open &= open - 1) {
      const int who = __ffs(static_cast<int>(open)) - 1;
      const int pair = __shfl_sync(kAllLanes, entry & PairTile::kPair, who);
      const float window_norm = __shfl_sync(kAllLanes, half ? norm.lower : norm.upper, who);
      int place = 0;
      if (lane == 0) place = t.out.reserve(1);
      place = __shfl_sync(kAllLanes, place, 0);
      if (place >= 0) {
        if (lane == 0)
          t.out.push(static_cast<std::uint32_t>(place), t.survivor(s, pair, half, window_norm));
      } else if (t.passes(s, pair, half, window_norm) && lane == who) {
        stays |= bit;
      }
    }
  }
  if (stays > PairTile::kPair) add_pair(t, next, stays);
}

/// Adds up part `slice` of `slices` of stage s for a group of pairs of t.list, a pair a thread.
/// `entry` is the thread's.
__device__ inline void add_listed_pair(const PairTile& t, int s, int entry, int slice, int slices,
                                       Two<float>& norm, Two<std::int32_t>& sum) {
  const int pair = entry & PairTile::kPair;
  const std::uint32_t at[1] = {shared_address(t.corner(pair))};
  const Two<float> norms[1] = {t.norm[pair]};
  Two<std::int32_t> sums[1];
  add_pair_leaves(t.stage_nodes, t.nodes.stage[s], slice, slices, at, norms, sums);
  norm = norms[0];
  sum = sums[0];
}

/// Takes the `count` pairs in t.list through stage s; those that stay are in t.by_bank. Warps share
/// the trees of the same pairs in as many parts as PairStage says.
__device__ inline void take_listed_pairs(const PairTile& t, int s, int count, BankCounts& next) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  constexpr int kWarps = kPairThreads / kWarp;
  const int groups = (count - 1) / kWarp + 1, slices = t.nodes.stage[s].slices[groups - 1];
  Two<float> norm;
  Two<std::int32_t> sum;
  if (__any_sync(kAllLanes, slices == 1)) {
    for (int group = warp; __any_sync(kAllLanes, group < groups); group += kWarps) {
      const int i = group * kWarp + lane, entry = t.list[min(i, count - 1)];
      add_listed_pair(t, s, entry, 0, 1, norm, sum);
      keep_pairs(t, s, i < count ? entry : 0, norm, sum, next);
    }
    return;
  }
  for (int task = warp; __any_sync(kAllLanes, task < groups * slices); task += kWarps) {
    const int group = task / slices, i = group * kWarp + lane;
    add_listed_pair(t, s, t.list[min(i, count - 1)], task - group * slices, slices, norm, sum);
    if (i >= count) continue;
    atomicAdd(&t.sums[i].upper, sum.upper);
    atomicAdd(&t.sums[i].lower, sum.lower);
  }
  __syncthreads();
  for (int first = thread - lane; __any_sync(kAllLanes, first < count); first += kPairThreads) {
    const int i = min(first + lane, count - 1);
    const int entry = t.list[i];
    sum = t.sums[i];
    __syncwarp();  // the last one may be read by several
    t.sums[i] = {0, 0};
    keep_pairs(t, s, first + lane < count ? entry : 0, t.norm[entry & PairTile::kPair], sum, next);
  }
}

/// What is left in t.list to the queue of survivors; where that is full, here and now in the
/// place of the tile's sums.
__device__ inline void hand_over(const PairTile& t, const ImageView<const std::uint8_t>& atlas,
                                 int s, int count, TileBlock& block) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  const int threads = static_cast<int>(blockDim.x);
  if (thread == 0) block.windows = 0;
  __syncthreads();
  if (s < t.table.stage_count) {
    for (int i = thread; i < count; i += threads) {
      const int entry = t.list[i];
      atomicAdd(&block.windows, static_cast<std::uint32_t>(__popc(entry & ~PairTile::kPair)));
    }
    __syncthreads();
    if (thread == 0 && count > 0) {
      block.first_place = t.out.reserve(block.windows);
      block.windows = 0;
    }
    __syncthreads();
  }
  const int first_place = block.first_place;
  for (int first = thread - lane; first < count; first += threads) {
    const int entry = first + lane < count ? t.list[first + lane] : 0;
    const int pair = entry & PairTile::kPair;
    const Two<float> norm = t.norm[pair];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const bool mine = (entry & (half ? PairTile::kLower : PairTile::kUpper)) != 0;
      const float window_norm = half ? norm.lower : norm.upper;
      const Survivor window = t.survivor(s, pair, half, window_norm);
      if (s == t.table.stage_count) {
        if (mine) t.out.add(t.table, *t.tile.level, window.x, window.y);
        continue;
      }
      if (first_place >= 0) {
        if (mine)
          t.out.push(static_cast<std::uint32_t>(first_place) + atomicAdd(&block.windows, 1u),
                     window);
        continue;
      }
      for (unsigned alive = __ballot_sync(kAllLanes, mine); alive != 0; alive &= alive - 1) {
        const int who = __ffs(static_cast<int>(alive)) - 1;
        search_survivor_now(t.table, t.by_patch, atlas,
                            t.survivor(s, __shfl_sync(kAllLanes, pair, who), half,
                                       __shfl_sync(kAllLanes, window_norm, who)),
                            thread / kWarp * t.table.patch_words, t.out);
      }
    }
  }
}

/// Takes a tile through the first stages, with lists of pairs. What passes them goes to the list of
/// survivors.
template <bool kActive>
__device__ void search_tile(const PairTile& t, const ImageView<const std::uint8_t>& atlas,
                            unsigned long long* skips, TileBlock& block) {
  __shared__ BankCounts counts[2];  // of stages in turns
  const int thread = static_cast<int>(threadIdx.x);
  const PairNodes& nodes = t.nodes;
  if (thread < 2 * kWarp) counts[thread / kWarp][thread % kWarp] = 0;
  if (thread == 0) block.windows = 0;
  make_sums_and_squares(t);
  take_dense_stages<kActive>(t, block);
  drop_skipped(t.tile, skips, block);
  int s = nodes.dense_stages;
  add_dense_pairs(t, counts[s % 2], block);
  int count = list_pairs(t, counts[s % 2], counts[(s + 1) % 2]);
  if (thread == 0 && count > 0) atomicAdd(&t.out.counts->listed, block.windows);
#pragma unroll 1
  while (s < nodes.stage_count && __any_sync(kAllLanes, count > 0)) {
    take_listed_pairs(t, s, count, counts[(s + 1) % 2]);
    ++s;
    count = list_pairs(t, counts[s % 2], counts[(s + 1) % 2]);
  }
  hand_over(t, atlas, s, count, block);
}

/// A block a tile, then survivors of all tiles. kActive: searches of active parts too.
template <bool kActive>
__global__ void __launch_bounds__(kPairThreads, kPairBlocks)
    pairs_kernel(const __grid_constant__ TileTable table,
                 const __grid_constant__ CascadeView by_patch,
                 const __grid_constant__ PairNodes nodes, ImageView<const std::uint8_t> pixels,
                 unsigned long long* skips, const __grid_constant__ SearchOutput out,
                 const std::int32_t* run, const SearchRegion* band, DeviceMap active) {
  if (idle(run)) return;
  begin_tile(out);
  Tile tile = tile_at(table, blockIdx.x);
  __shared__ TileBlock block;
  if ((band && !keep_band(tile, table, *band)) ||
      (kActive && !find_active(active, band, table, tile, skips, block))) {
    if (end_tile_left_out(out.counts, out.queue_states, out.queue_capacity))
      take_survivors_too(table, by_patch, pixels, out);
    return;
  }
  search_tile<kActive>(PairTile(table, by_patch, nodes, pixels, out, tile), pixels, skips, block);
  if (end_tile(out.counts, out.queue_states, out.queue_capacity))
    take_survivors(table, by_patch, pixels, out);
}

/// A block a tile of one of several pictures, then survivors of all its tiles. A picture's memory
/// lies `apart` bytes behind that of the one before. Blocks wait for those of their picture only.
__global__ void __launch_bounds__(kPairThreads, kPairBlocks)
    pairs_of_many_kernel(const __grid_constant__ TileTable table,
                         const __grid_constant__ CascadeView by_patch,
                         const __grid_constant__ PairNodes nodes,
                         ImageView<const std::uint8_t> pixels, unsigned long long* skips,
                         SearchOutput out, std::size_t apart) {
  const std::size_t behind = blockIdx.y * apart;
  const auto move = [&](auto*& at) {
    using T = std::remove_reference_t<decltype(*at)>;
    using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    at = reinterpret_cast<T*>(reinterpret_cast<Byte*>(at) + behind);
  };
  move(pixels.data);
  move(skips);
  move(out.raw);
  move(out.queue);
  move(out.counts);
  move(out.queue_states);
  begin_tile(out);
  const Tile tile = tile_at(table, blockIdx.x);
  __shared__ TileBlock block;
  search_tile<false>(PairTile(table, by_patch, nodes, pixels, out, tile), pixels, skips, block);
  if (end_tile(out.counts, out.queue_states, out.queue_capacity))
    take_survivors(table, by_patch, pixels, out);
}

/// The kernel of a search; with `active` of active parts too.
inline auto pairs_for(bool active) { return active ? pairs_kernel<true> : pairs_kernel<false>; }

}  // namespace cuface::cuda
