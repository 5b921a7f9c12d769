// A search that takes its windows one by one, not in pairs.
#pragma once

#include <cstdint>

#include "kernels/cascade/cuda/active.cuh"
#include "kernels/cascade/cuda/passes.cuh"
#include "kernels/cascade/cuda/stages.cuh"
#include "kernels/cascade/cuda/survivors.cuh"
#include "kernels/cascade/cuda/tile.cuh"

namespace cuface::cuda {

constexpr int kBlocksPerProcessor = 3;  // that CascadeSearch's shared memory lets through
constexpr int kRowWindows = kTileColumns / kWarp;  // of a row of a tile, per thread of a warp
static_assert(kRowWindows == 2 && kTileColumns == 64);

/// Takes a tile through all stages, or up to the queue of survivors.
__device__ inline void search_tile(const TileTable& table, const Tile& tile,
                                   const CascadeView& by_step_1, const CascadeView& by_step_2,
                                   const ImageView<const std::uint8_t>& pixels,
                                   unsigned long long* skips, const SearchOutput& out,
                                   TileBlock& block) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const int threads = static_cast<int>(blockDim.x), warps = threads / kWarp;
  if (thread < 3) block.listed[thread] = 0;
  const WindowLevel level = *tile.level;
  const Lists lists(tile_sums + table.list_offset[level.step - 1],
                    table.rows[level.step - 1] * kTileColumns);
  for (int i = thread; i < kFewWindows; i += threads) lists.sum[i] = 0;
  __syncthreads();
  const CascadeView cascade = level.step == 2 ? by_step_2 : by_step_1;
  const int stride = table.stride[level.step - 1];
  const auto& border = table.border[level.step - 1];
  const auto corner = [&](int window) {
    return (window / kTileColumns * level.step * stride + window % kTileColumns) * kWordBytes;
  };
  const auto for_each_row = [&](auto&& f) {
    for (int y = warp; __any_sync(kAllLanes, y < tile.rows); y += warps) {
      int window[kRowWindows];
      for (int u = 0; u < kRowWindows; ++u)
        window[u] = y * kTileColumns + min(lane + u * kWarp, tile.columns - 1);
      f(y, window);
    }
  };

  // Norms, of which the squares are in the way of the sums.
  ImageView<const std::uint8_t> in = pixels;
  in.data = pixels.row(level.y + tile.y * level.step) + level.x + tile.x * level.step;
  in.width = (tile.columns - 1) * level.step + table.width;
  in.height = (tile.rows - 1) * level.step + table.height;
  make_sums<true>(in, level.step, stride);
  for_each_row([&](int, const int(&window)[kRowWindows]) {
    for (const int w : window) lists.norm[w] = __uint_as_float(inner_sum(corner(w), border));
  });
  __syncthreads();
  make_sums<false>(in, level.step, stride);
  const int tilted = table.tilted[level.step - 1];
  if (tilted > 0) make_tilted_sums(in, level.step, stride, tilted);

  // The first stage, whether or not a window will turn out to be skipped.
  const SearchStage& first = cascade.stages[0];
  for_each_row([&](int y, const int(&window)[kRowWindows]) {
    int at[kRowWindows];
    float norm[kRowWindows];
    std::int32_t sum[kRowWindows] = {};
    std::uint64_t failed = 0, passed = 0;
    for (int u = 0; u < kRowWindows; ++u) {
      at[u] = corner(window[u]);
      norm[u] = inverse_norm((table.width - 2) * (table.height - 2),
                             static_cast<std::int32_t>(inner_sum(at[u], border)),
                             __float_as_uint(lists.norm[window[u]]));
    }
    __syncwarp();  // the last window may be read by several
    for (int u = 0; u < kRowWindows; ++u) lists.norm[window[u]] = norm[u];
    add_leaves(cascade, first, 0, 1, at, norm, sum);
    for (int u = 0; u < kRowWindows; ++u) {
      const bool live = lane + u * kWarp < tile.columns && is_active(block, y, lane + u * kWarp) &&
                        norm[u] != 0.0f;  // 0: flat
      const unsigned all = __ballot_sync(kAllLanes, live);
      const unsigned pass =
          passing(cascade, first, at[u], norm[u], sum[u], live, &out.counts->exact);
      passed |= static_cast<std::uint64_t>(pass) << (u * kWarp);
      failed |= static_cast<std::uint64_t>(all & ~pass) << (u * kWarp);
    }
    __syncwarp();  // all have asked block.passed which windows are on
    if (lane == 0) {
      block.failed[y] = failed;
      block.passed[y] = passed;
    }
  });
  __syncthreads();
  drop_skipped(tile, skips, block);
  for_each_row([&](int y, const int(&)[kRowWindows]) {
    const std::uint64_t mask = block.passed[y];
    if (mask == 0) return;
    std::uint32_t at = 0;
    if (lane == 0) at = atomicAdd(&block.listed[1], static_cast<std::uint32_t>(__popcll(mask)));
    at = __shfl_sync(kAllLanes, at, 0);
    for (int x = lane; x < kTileColumns; x += kWarp)
      if (mask >> x & 1)
        lists.list(
            1)[at + static_cast<std::uint32_t>(__popcll(mask & ((std::uint64_t{1} << x) - 1)))] =
            static_cast<std::uint16_t>(y * kTileColumns + x);
  });
  __syncthreads();

  int s = 1, count = static_cast<int>(block.listed[1]);
  if (thread == 0 && count > 0) atomicAdd(&out.counts->listed, static_cast<std::uint32_t>(count));
#pragma unroll 1
  for (bool may_leave = true; s < table.stage_count && __any_sync(kAllLanes, count > 0); ++s) {
    if (may_leave && s >= table.survivor_stage) {
      if (thread == 0) block.first_place = out.reserve(static_cast<std::uint32_t>(count));
      __syncthreads();
      const int first_place = block.first_place;
      if (first_place >= 0) {
        for (int i = thread; i < count; i += threads) {
          const int window = lists.list(s)[i];
          const int x = (tile.x + window % kTileColumns) * level.step;
          const int y = (tile.y + window / kTileColumns) * level.step;
          out.push(static_cast<std::uint32_t>(first_place + i),
                   {static_cast<std::uint32_t>(pixels.row(level.y + y) + level.x + x - pixels.data),
                    lists.norm[window], static_cast<std::uint16_t>(tile.level - table.levels),
                    static_cast<std::uint16_t>(s), static_cast<std::uint16_t>(x),
                    static_cast<std::uint16_t>(y)});
        }
        return;
      }
      may_leave = false;
    }
    if (thread == 0) block.listed[(s + 2) % 3] = 0;
    std::uint32_t* next_count = &block.listed[(s + 1) % 3];
    const Pass pass = {cascade, cascade.stages[s], lists,      lists.list(s),
                       count,   lists.list(s + 1), next_count, &out.counts->exact};
    take(pass, corner);
    count = static_cast<int>(*next_count);
  }
  for (int i = thread; i < count; i += threads) {
    const int window = lists.list(s)[i];
    out.add(table, level, (tile.x + window % kTileColumns) * level.step,
            (tile.y + window / kTileColumns) * level.step);
  }
}

/// A block a tile, then survivors of all tiles.
__global__ void __launch_bounds__(kSearchThreads, kBlocksPerProcessor)
    search_kernel(const __grid_constant__ TileTable table, CascadeView by_step_1,
                  CascadeView by_step_2, CascadeView by_patch, ImageView<const std::uint8_t> pixels,
                  unsigned long long* skips, SearchOutput out, const std::int32_t* run,
                  const SearchRegion* band, DeviceMap active) {
  if (idle(run)) return;
  begin_tile(out);
  Tile tile = tile_at(table, blockIdx.x);
  __shared__ TileBlock block;
  if ((band && !keep_band(tile, table, *band)) ||
      !find_active(active, band, table, tile, skips, block)) {
    if (table.patch_words > 0 &&
        end_tile_left_out(out.counts, out.queue_states, out.queue_capacity))
      take_survivors_too(table, by_patch, pixels, out);
    return;
  }
  search_tile(table, tile, by_step_1, by_step_2, pixels, skips, out, block);
  if (table.patch_words > 0 && end_tile(out.counts, out.queue_states, out.queue_capacity))
    take_survivors(table, by_patch, pixels, out);
}

}  // namespace cuface::cuda
