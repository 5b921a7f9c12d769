// What the tiles of LevelIntegrals add up to, and how their blocks tell each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/integral/cuda/level_sums.h"
#include "kernels/pyramid/cuda/resize.cuh"

namespace cuface::cuda {

/// A plain sum and one of squares.
struct SumPair {
  std::uint32_t plain, squared;

  __device__ void add(const SumPair& other) {
    plain += other.plain;
    squared += other.squared;
  }
};

/// A pair and the mark of the launch that says it, in one word, so that who reads it has all or
/// none. The words keep what the launch before has said, whose mark is another.
using SumWord = unsigned long long;
inline constexpr int kPlainBits = 21, kSquaredBits = 29;  ///< of all pixels of a tile
inline constexpr int kMarkBits = 64 - kPlainBits - kSquaredBits;
inline constexpr std::uint32_t kMarks = 1u << kMarkBits;

__device__ inline SumWord said(const SumPair& sums, std::uint32_t mark) {
  return static_cast<SumWord>(mark) << (kPlainBits + kSquaredBits) |
         static_cast<SumWord>(sums.squared) << kPlainBits | sums.plain;
}

__device__ inline SumWord now(const SumWord* at) {
  return *static_cast<const volatile SumWord*>(at);
}

/// What `word`, read from `at`, says, once this launch has said it. For words of blocks with lower
/// numbers only, which have begun earlier.
__device__ inline SumPair heard(SumWord word, const SumWord* at, std::uint32_t mark) {
  while (static_cast<std::uint32_t>(word >> (kPlainBits + kSquaredBits)) != mark) word = now(at);
  return {static_cast<std::uint32_t>(word) & ((1u << kPlainBits) - 1),
          static_cast<std::uint32_t>(word >> kPlainBits) & ((1u << kSquaredBits) - 1)};
}

/// The sum of what `count` words say, `step` words apart, some of them read at once.
__device__ inline SumPair all_heard(const SumWord* at, int count, std::ptrdiff_t step,
                                    std::uint32_t mark) {
  constexpr int kBatch = 4;
  SumPair sum = {};
  for (int i = 0; i < count; i += kBatch) {
    SumWord words[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) words[k] = now(at + min(i + k, count - 1) * step);
#pragma unroll
    for (int k = 0; k < kBatch; ++k)
      if (i + k < count) sum.add(heard(words[k], at + (i + k) * step, mark));
  }
  return sum;
}

/// The sum over the lanes up to this one.
__device__ inline std::uint32_t up_to_lane(std::uint32_t value, int lane) {
#pragma unroll
  for (int apart = 1; apart < kWarp; apart *= 2) {
    const std::uint32_t left = __shfl_up_sync(kAllLanes, value, static_cast<unsigned>(apart));
    if (lane >= apart) value += left;
  }
  return value;
}

/// The sum over each kOf neighbouring lanes, in all of them.
template <int kOf>
__device__ SumPair of_lanes(SumPair value) {
#pragma unroll
  for (int apart = kOf / 2; apart > 0; apart /= 2)
    value.add({__shfl_xor_sync(kAllLanes, value.plain, apart),
               __shfl_xor_sync(kAllLanes, value.squared, apart)});
  return value;
}

__device__ inline SumPair from_lane(const SumPair& value, int lane) {
  return {__shfl_sync(kAllLanes, value.plain, lane), __shfl_sync(kAllLanes, value.squared, lane)};
}

// A level is cut into tiles; a block makes the pixels of one and their sums. What is left of and
// above its tile it hears from the blocks there: each says what its columns, its rows and all of
// its pixels add up to, before it listens itself.
inline constexpr int kBlock = 256, kWarps = kBlock / kWarp;
inline constexpr int kRows = 8;  // of a warp; a lane has four columns
inline constexpr int kColumns = kQuad * kWarp, kTileRows = kRows * kWarps;
static_assert(kBlock == 2 * kColumns, "two threads a column");
static_assert(kColumns * kTileRows * 255LL < 1LL << kPlainBits &&
              kColumns * kTileRows * 255LL * 255 < 1LL << kSquaredBits);

/// Four columns of pixels, two of them in each 32-bit word: 0 and 2, 1 and 3.
using TwoAndTwo = uint2;

struct TileSums {
  TwoAndTwo plain[kWarps][kWarp];  ///< of each warp's rows, by column
  uint4 squared[kWarps][kWarp];
  SumPair warp[kWarps];       ///< of each warp's rows
  uint4 far_plain[2][kWarp];  ///< above the tile by column, in two parts
  uint4 far_squared[2][kWarp];
  SumPair corner[kWarps];  ///< above and left of the tile, in parts
  SumPair left[kWarps];    ///< left of each warp's rows
};

__device__ inline std::uint32_t* words_of(uint4* quads) {
  return reinterpret_cast<std::uint32_t*>(quads);
}

/// Adds pixel k of four, or its square.
__device__ inline void add_pixel(std::uint32_t word, int k, std::uint32_t& sum) {
  sum = __dp4a(word, 1u << (8 * k), sum);
}
__device__ inline void add_square(std::uint32_t word, int k, std::uint32_t& sum) {
  sum = __dp4a(word, word & 0xffu << (8 * k), sum);
}

/// Where the blocks of a launch say what their tiles add up to.
struct Said {
  SumWord *columns, *rows, *tiles;
  LaunchMark* launch;
};

/// What lies left of a warp's rows, in the tiles there. A few lanes share a row.
__device__ inline void hear_left(const SumTile& tile, const Said& of, std::uint32_t mark, int warp,
                                 int lane, SumPair (&left)[kRows]) {
  constexpr int kLanes = kWarp / kRows;
  const int first = lane % kLanes;
  const int first_of_band = static_cast<int>(blockIdx.x) - tile.column;
  const SumWord* at = of.rows + static_cast<std::ptrdiff_t>(first_of_band + first) * kTileRows +
                      warp * kRows + lane / kLanes;
  const SumPair row = of_lanes<kLanes>(all_heard(at, (tile.column - first + kLanes - 1) / kLanes,
                                                 std::ptrdiff_t{kLanes} * kTileRows, mark));
#pragma unroll
  for (int r = 0; r < kRows; ++r) left[r] = from_lane(row, r * kLanes);
}

/// A thread's part of what lies above a column of the tile: every second band.
__device__ inline SumPair hear_above(const SumTile& tile, const Said& of, std::uint32_t mark,
                                     int column, int part) {
  const std::ptrdiff_t band = static_cast<std::ptrdiff_t>(tile.columns) * kColumns;
  const int first = static_cast<int>(blockIdx.x) - tile.band * tile.columns;
  const SumWord* at = of.columns + static_cast<std::ptrdiff_t>(first) * kColumns + column;
  return all_heard(at + part * band, (tile.band - part + 1) / 2, 2 * band, mark);
}

/// A warp's part of what lies above and left of the tile.
__device__ inline SumPair hear_corner(const SumTile& tile, const Said& of, std::uint32_t mark,
                                      int thread) {
  SumPair sum = {};
  if (tile.column == 0 || tile.band == 0) return sum;
  const int first = static_cast<int>(blockIdx.x) - tile.band * tile.columns - tile.column;
  for (int i = thread; i < tile.column * tile.band; i += kBlock) {
    const SumWord* at = of.tiles + first + i / tile.column * tile.columns + i % tile.column;
    sum.add(heard(now(at), at, mark));
  }
  return of_lanes<kWarp>(sum);
}

/// Sums along the rows of a warp: what is left of a lane's columns in the tile, and, in lane r, row
/// r as a whole.
__device__ inline SumPair along_rows(const std::uint32_t (&word)[kRows], int lane,
                                     SumPair (&before)[kRows]) {
  SumPair whole = {};
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::uint32_t own = __dp4a(word[r], word[r], 0u), here = up_to_lane(own, lane);
    before[r].squared = here - own;
    const std::uint32_t all = __shfl_sync(kAllLanes, here, kWarp - 1);
    if (lane == r) whole.squared = all;
  }
#pragma unroll
  for (int r = 0; r < kRows; r += 2) {  // two rows' pixels in one word
    constexpr std::uint32_t kOnes = 0x01010101;
    const std::uint32_t own = __dp4a(word[r], kOnes, 0u) | __dp4a(word[r + 1], kOnes, 0u) << 16;
    const std::uint32_t here = up_to_lane(own, lane);
    before[r].plain = (here - own) & 0xffff;
    before[r + 1].plain = (here - own) >> 16;
    const std::uint32_t all = __shfl_sync(kAllLanes, here, kWarp - 1);
    if (lane == r) whole.plain = all & 0xffff;
    if (lane == r + 1) whole.plain = all >> 16;
  }
  return whole;
}

/// Sums down the columns of a warp.
__device__ inline void down_columns(const std::uint32_t (&word)[kRows], TwoAndTwo& plain,
                                    uint4& squared) {
  plain = {};
  std::uint32_t squares[kQuad] = {};
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    plain.x += word[r] & 0x00ff00ffu;
    plain.y += word[r] >> 8 & 0x00ff00ffu;
#pragma unroll
    for (int k = 0; k < kQuad; ++k) add_square(word[r], k, squares[k]);
  }
  squared = {squares[0], squares[1], squares[2], squares[3]};
}

/// What a tile's column adds up to.
__device__ inline SumPair column_sum(const TileSums& sums, int column) {
  SumPair sum = {};
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const TwoAndTwo& two = sums.plain[w][column / kQuad];
    sum.add({column % 2 == 0 ? two.x : two.y,
             reinterpret_cast<const std::uint32_t*>(sums.squared[w])[column]});
  }
  sum.plain = sum.plain >> (column % kQuad / 2 * 16) & 0xffff;
  return sum;
}

/// What lies above a warp's rows in the columns of a lane: in its tile and further up.
__device__ inline void sum_above(const TileSums& sums, int warp, int lane,
                                 std::uint32_t (&plain)[kQuad], std::uint32_t (&squared)[kQuad]) {
  TwoAndTwo near = {};
  uint4 squares = {};
  const auto add = [](uint4& sum, const uint4& v) {
    sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
  };
  for (int w = 0; w < warp; ++w) {
    near.x += sums.plain[w][lane].x, near.y += sums.plain[w][lane].y;
    add(squares, sums.squared[w][lane]);
  }
  uint4 pixels = {near.x & 0xffff, near.y & 0xffff, near.x >> 16, near.y >> 16};
  for (int part = 0; part < 2; ++part) {
    add(pixels, sums.far_plain[part][lane]);
    add(squares, sums.far_squared[part][lane]);
  }
  plain[0] = pixels.x, plain[1] = pixels.y, plain[2] = pixels.z, plain[3] = pixels.w;
  squared[0] = squares.x, squared[1] = squares.y, squared[2] = squares.z, squared[3] = squares.w;
}

}  // namespace cuface::cuda
