// The part of a search that a block does, and its sums.
#pragma once

#include <cstdint>

#include "kernels/cascade/cuda/stages.cuh"
#include "kernels/cascade/row_rule.h"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/lanes.h"
#include "kernels/integral/tilted_lanes.h"

namespace cuface::cuda {

/// The tile that a block searches.
struct Tile {
  const WindowLevel* level;
  std::uint32_t left_tiles;  ///< in its row of tiles
  int x, y;                  ///< its first window, in windows of the level
  int columns, rows;
};

__device__ inline Tile tile_at(const TileTable& table, std::uint32_t number) {
  Tile tile;
  tile.level = table.levels + __ldg(table.level_of + number);
  const std::uint32_t inside = number - tile.level->first_tile;
  tile.left_tiles = inside % tile.level->tiles_across;
  const int columns = tile.level->tile_columns;
  tile.x = static_cast<int>(tile.left_tiles) * columns;
  const int rows = tile.level->tile_rows;
  tile.y = tile.level->begin + static_cast<int>(inside / tile.level->tiles_across) * rows;
  tile.columns = min(columns, tile.level->columns - tile.x);
  tile.rows = min(rows, tile.level->end - tile.y);
  return tile;
}

/// Leaves the rows of a tile that a search of a band looks at; false where there are none. Tiles of
/// one row of tiles keep the same rows.
__device__ inline bool keep_band(Tile& tile, const TileTable& table, const SearchRegion& band) {
  const WindowLevel& level = *tile.level;
  const RowRange range =
      band_rows(band, level.height, table.height, level.rows * level.step, level.step);
  const int first = max(range.first / level.step, tile.y);
  const int last = min((range.last + level.step - 1) / level.step, tile.y + tile.rows);
  tile.y = first;
  tile.rows = last - first;
  return last > first;
}

/// What the threads of a block share besides the sums.
struct TileBlock {
  std::uint64_t failed[kMostTileRows], passed[kMostTileRows];  ///< at the first stage, by columns
  std::uint32_t listed[3], windows;
  int first_place;
};

/// The block's lists, behind its sums; each stage has one of two in turns. A window is its row in
/// the tile times kTileColumns, plus its column.
struct Lists {
  std::int32_t* sum;  ///< of a stage, for kFewWindows; 0 between
  float* norm;        ///< per window
  std::uint16_t* first_list;
  int windows;

  __device__ Lists(std::uint32_t* behind_sums, int windows) : windows(windows) {
    sum = reinterpret_cast<std::int32_t*>(behind_sums);
    norm = reinterpret_cast<float*>(sum + kFewWindows);
    first_list = reinterpret_cast<std::uint16_t*>(norm + windows);
  }
  __device__ std::uint16_t* list(int stage) const { return first_list + stage % 2 * windows; }
};

/// Sums of the tile's pixels, or of their squares, exclusive as in integral.h. With step 2 the even
/// columns come first in each row, as SumLayout has it.
template <bool kSquared>
__device__ void make_sums(const ImageView<const std::uint8_t>& pixels, int step, int stride) {
  const int width = pixels.width, height = pixels.height;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int threads = static_cast<int>(blockDim.x);
  const auto column = [&](int x) { return (x & (step - 1)) * (stride / 2) + (x >> (step - 1)); };
  for (int x = static_cast<int>(threadIdx.x); x <= width; x += threads) {
    std::uint32_t* at = tile_sums + column(x);
    const std::uint8_t* in = pixels.data + x - 1;
    std::uint32_t sum = 0;
    *at = 0;
#pragma unroll 8
    for (int y = 0; y < height; ++y) {
      const std::uint32_t v = x > 0 ? __ldg(in + y * pixels.stride) : 0;
      at += stride;
      *at = sum += kSquared ? v * v : v;
    }
  }
  __syncthreads();
  const int each = width / kWarp + 1;  // columns of a thread
  const int begin = min(lane * each, width + 1), end = min(begin + each, width + 1);
#pragma unroll 2
  for (int y = 1 + static_cast<int>(threadIdx.x) / kWarp; y <= height; y += threads / kWarp) {
    std::uint32_t* row = tile_sums + y * stride;
    std::uint32_t mine = 0;
    for (int x = begin; x < end; ++x) mine += row[column(x)];
    std::uint32_t sum = prefix_sum(mine) - mine;
    for (int x = begin; x < end; ++x) row[column(x)] = sum += row[column(x)];
  }
  __syncthreads();
}

/// Tilted sums of the tile's pixels, behind those of make_sums(): differences of these are exact
/// for every rectangle in the tile, as no other counts.
__device__ inline void make_tilted_sums(const ImageView<const std::uint8_t>& pixels, int step,
                                        int stride, int tilted) {
  integral_tilted(BlockLanes(), pixels, {step == 2 ? stride / 2 : 0}, tile_sums + tilted, stride);
}

/// Tells the tile to the right, of each row by a bit, whether its first window may be skipped, and
/// whether it may be visited. One thread does.
__device__ inline void publish_skips(unsigned long long* skips, unsigned may_skip,
                                     unsigned may_visit) {
  atomicExch(skips, may_skip | static_cast<unsigned long long>(may_visit) << kWarp);
}

/// A bit for each row of the tile: whether its first window is skipped for one that the tile to the
/// left visits. A decoupled look-back: a tile publishes two bits of `skips` for each row, in halves
/// of 32 rows. The lower bit says that the next window may be skipped, the upper that it may be
/// visited. Both are set where all of the row fail, as that depends on what lies further left. A
/// word of 0 is not published yet. For one whole warp, a thread a row. Waits for blocks with lower
/// numbers only, which have begun earlier.
__device__ inline bool first_is_skipped(unsigned long long* skips, std::uint32_t left_tiles,
                                        bool depends, bool skips_if_visited,
                                        bool skips_if_skipped) {
  const unsigned lane = threadIdx.x % kWarp;
  const unsigned may_skip = __ballot_sync(kAllLanes, skips_if_visited || skips_if_skipped);
  const unsigned may_visit = __ballot_sync(kAllLanes, !skips_if_visited || !skips_if_skipped);
  if (lane == 0) publish_skips(skips, may_skip, may_visit);
  bool skipped = false;
  while (left_tiles-- > 0 && __any_sync(kAllLanes, depends)) {
    --skips;
    unsigned long long said = 0;
    while (said == 0) said = *static_cast<volatile unsigned long long*>(skips);
    const bool skip = said >> lane & 1, visit = said >> (lane + kWarp) & 1;
    if (depends && skip != visit) {
      skipped = skip;
      depends = false;
    }
  }
  return skipped;
}

/// Takes the windows that are skipped from those that passed. For a whole block.
__device__ inline void drop_skipped(const Tile& tile, unsigned long long* skips, TileBlock& block) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kWarp) {
    const bool is_row = thread < tile.rows;
    const std::uint64_t failed = is_row ? block.failed[thread] : 0;
    const std::uint64_t passed = is_row ? block.passed[thread] : 0;
    const auto left = [&](bool& carry) {
      return passed & ~skipped_windows(failed, tile.columns, carry);
    };
    bool carry_visited = false, carry_skipped = true;
    const std::uint64_t if_visited = left(carry_visited), if_skipped = left(carry_skipped);
    const bool skipped = first_is_skipped(skips + blockIdx.x, tile.left_tiles,
                                          if_visited != if_skipped, carry_visited, carry_skipped);
    block.passed[thread] = skipped ? if_skipped : if_visited;
  }
  __syncthreads();
}

}  // namespace cuface::cuda
