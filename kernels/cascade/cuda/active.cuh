// The part of a tile that a map of active parts has on.
#pragma once

#include <cstdint>

#include "kernels/cascade/cuda/tile.cuh"
#include "kernels/cells/cells_cuda.h"

namespace cuface::cuda {

/// Writes to block.passed which windows of the tile are on: in a search of active parts, those of
/// the map. A window that is off neither passes nor fails. For a whole block. False where none is
/// on. Then this publishes that no first window of the tile to the right is skipped, and nothing
/// else is to be done.
__device__ inline bool find_active(const DeviceMap& active, const SearchRegion* band,
                                   const TileTable& table, const Tile& tile,
                                   unsigned long long* skips, TileBlock& block) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  if (!active.map || !band || !band->active_only) {
    if (thread < kMostTileRows) block.passed[thread] = ~std::uint64_t{0};
    __syncthreads();
    return true;
  }
  const WindowLevel& level = *tile.level;
  const std::uint64_t* cells = active.map->cells[level.size_class];
  const auto column = [&](int x) {
    return window_cell((tile.x + min(x, tile.columns - 1)) * level.step, table.width,
                       active.columns, level.width);
  };
  const int left = column(lane), right = column(lane + kWarp);
  std::uint64_t any = 0;
  for (int y = thread / kWarp; y < kMostTileRows; y += static_cast<int>(blockDim.x) / kWarp) {
    std::uint64_t row = 0;
    if (y < tile.rows)
      row = cells[window_cell((tile.y + y) * level.step, table.height, active.rows, level.height)];
    const unsigned first = __ballot_sync(kAllLanes, (row >> left & 1) != 0);
    const unsigned second = __ballot_sync(kAllLanes, (row >> right & 1) != 0);
    const std::uint64_t windows = first | static_cast<std::uint64_t>(second) << kWarp;
    if (lane == 0) block.passed[y] = windows;
    any |= windows;
  }
  if (__syncthreads_or(any != 0)) return true;
  if (thread == 0) publish_skips(skips + blockIdx.x, 0, kAllLanes);
  return false;
}

/// After find_active(), of a row and column of the tile.
__device__ inline bool is_active(const TileBlock& block, int y, int x) {
  const auto* halves = reinterpret_cast<const std::uint32_t*>(block.passed + y);
  return halves[x / kWarp] >> (x % kWarp) & 1;
}

}  // namespace cuface::cuda
