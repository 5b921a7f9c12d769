#include <algorithm>
#include <limits>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/integral/cuda/level_sums.h"
#include "kernels/integral/cuda/tile_sums.cuh"
#include "kernels/pyramid/cuda/resize.cuh"

namespace cuface::cuda {
namespace {

constexpr int kBlocksAtOnce = 3;  // 80 registers a thread; with more of them it takes longer

/// Words x .. x + 3 of a row of sums: the first, and each next by what it has more. Not those
/// behind the word `last`, and the one after them where it is the last and no lane's first
/// (`ends`); kWhole: that is known to be no matter.
template <bool kWhole>
__device__ void store(std::uint32_t* to, int x, int last, bool ends, std::uint32_t first,
                      const std::uint32_t (&more)[kQuad]) {
  const std::uint32_t second = first + more[0], third = second + more[1], fourth = third + more[2];
  if (kWhole || x + kQuad - 1 <= last) {
    *reinterpret_cast<uint4*>(to) = {first, second, third, fourth};
    if (!kWhole && ends) to[kQuad] = fourth + more[3];
    return;
  }
  if (x <= last) to[0] = first;
  if (x + 1 <= last) to[1] = second;
  if (x + 2 <= last) to[2] = third;
}

/// A block a tile.
__global__ void __launch_bounds__(kBlock, kBlocksAtOnce)
    sum_kernel(ImageView<const std::uint8_t> src, bool words, ImageView<std::uint8_t> pixels,
               SumPlanes planes, const SumTile* tiles, const ResizeTap* taps, Said of,
               const std::int32_t* run) {
  if (idle(run)) return;
  __shared__ TileSums sums;
  const SumTile tile = tiles[blockIdx.x];
  const AtlasSlot slot = tile.slot;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % kWarp, warp = thread / kWarp;
  const int x = tile.column * kColumns + kQuad * lane;
  const int top = tile.band * kTileRows + warp * kRows;
  const int columns = min(kQuad, slot.width - x), rows = min(kRows, slot.height - top);
  const std::uint32_t mark = of.launch->mark;

  std::uint32_t word[kRows] = {};  // what is not of the level counts as 0
  if (columns > 0 && rows > 0) {
    std::uint8_t* to = pixels.row(slot.y + top) + slot.x + x;
    const std::uint32_t of_level = 0xffffffffu >> (8 * (kQuad - columns));
    resize_quads<kRows>(src, words && tile.quads, tile.same_size, taps + tile.first_column + x,
                        columns, taps + tile.first_row + top, rows, [&](int r, std::uint32_t made) {
                          store_quad(to + r * pixels.stride, made, columns);
#pragma unroll
                          for (int i = 0; i < kRows; ++i)  // registers have no index
                            if (i == r) word[i] = made & of_level;
                        });
  }

  SumPair before[kRows];
  const SumPair row = along_rows(word, lane, before);
  const auto index = static_cast<std::ptrdiff_t>(blockIdx.x);
  if (lane < kRows) of.rows[index * kTileRows + warp * kRows + lane] = said(row, mark);
  down_columns(word, sums.plain[warp][lane], sums.squared[warp][lane]);
  const SumPair of_warp = of_lanes<kRows>(row);
  if (lane == 0) sums.warp[warp] = of_warp;
  __syncthreads();
  if (thread < kColumns) {
    of.columns[index * kColumns + thread] = said(column_sum(sums, thread), mark);
  } else if (thread == kColumns) {
    SumPair all = {};
    for (const SumPair& w : sums.warp) all.add(w);
    of.tiles[index] = said(all, mark);
  }

  const int column = thread % kColumns, part = thread / kColumns;
  const SumPair above = hear_above(tile, of, mark, column, part);
  words_of(sums.far_plain[part])[column] = above.plain;
  words_of(sums.far_squared[part])[column] = above.squared;
  SumPair left[kRows];
  hear_left(tile, of, mark, warp, lane, left);
  const SumPair corner = hear_corner(tile, of, mark, thread);
  if (lane == 0) {
    sums.corner[warp] = corner;
    SumPair all = {};
    for (const SumPair& l : left) all.add(l);
    sums.left[warp] = all;
  }
  __syncthreads();
  if (thread == 0 && atomicAdd(&of.launch->arrived, 1u) == gridDim.x - 1) {
    of.launch->arrived = 0;  // for the next launch
    of.launch->mark = (mark + 1) % kMarks;
  }
  if (rows <= 0) return;

  std::uint32_t plain[kQuad], squared[kQuad];
  sum_above(sums, warp, lane, plain, squared);
  const SumPair own = {plain[0] + plain[1] + plain[2] + plain[3],
                       squared[0] + squared[1] + squared[2] + squared[3]};
  SumPair sum = {up_to_lane(own.plain, lane) - own.plain,
                 up_to_lane(own.squared, lane) - own.squared};
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    sum.add(sums.corner[w]);
    if (w < warp) sum.add(sums.left[w]);
  }
  const auto write = [&]<bool kWhole>() {
    const bool ends = lane == kWarp - 1 && x + kQuad == slot.width;
    std::uint32_t* to = planes.row(slot, top) + x;
    std::uint32_t* to_squared = to + planes.squared;
    if (top == 0) {
      constexpr std::uint32_t kZeros[kQuad] = {};
      store<kWhole>(to, x, slot.width, ends, 0, kZeros);
      store<kWhole>(to_squared, x, slot.width, ends, 0, kZeros);
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (!kWhole && r >= rows) return;
      to += planes.stride;
      to_squared += planes.stride;
      sum.add(left[r]);
      sum.add(before[r]);
#pragma unroll
      for (int k = 0; k < kQuad; ++k) {
        add_pixel(word[r], k, plain[k]);
        add_square(word[r], k, squared[k]);
      }
      store<kWhole>(to, x, slot.width, ends, sum.plain, plain);
      store<kWhole>(to_squared, x, slot.width, ends, sum.squared, squared);
    }
  };
  if ((tile.column + 1) * kColumns < slot.width && rows == kRows) {
    write.template operator()<true>();
  } else {
    write.template operator()<false>();
  }
}

// Tilted sums. By the recurrence of integral.cc, D(x,y) = T(x,y) - T(x-1,y-1) obeys
//   D(x,y) = D(x+1,y-1) + I(x-1,y-1) + I(x-1,y-2),
// with D = 0 above the first row of sums and right of the last column, and I = 0 outside of the
// picture. So D is a prefix sum along the diagonals that come from above and right, and T one of D
// along those that come from above and left. Left of the picture T(-1,y-1) = T(0,y-2), so the first
// column is T(0,y) = D(0,y) + D(0,y-2) + D(0,y-4) + ...; its D lie apart, in `edge`, because they
// are read while T is written.
//
// A thread takes a diagonal. The threads of a warp walk down the rows together, so that they touch
// neighbours; each has w + h diagonals with 1..h rows.

/// Diagonals with x + y = 1 .. w + h.
__global__ void tilted_down_left_kernel(ImageView<const std::uint8_t> pixels, SumPlanes planes,
                                        const IntegralLevel* levels, int count,
                                        std::uint32_t diagonals, std::uint32_t* edge,
                                        const std::int32_t* run) {
  if (idle(run)) return;
  const std::uint32_t task = blockIdx.x * blockDim.x + threadIdx.x;
  if (task >= diagonals) return;
  const IntegralLevel& level = levels[part_of<&IntegralLevel::first_diagonal>(levels, count, task)];
  const AtlasSlot slot = level.slot;
  const int diagonal = static_cast<int>(task - level.first_diagonal) + 1;
  std::uint32_t d = 0;
  for (int y = 1; y <= slot.height; ++y) {
    const int x = diagonal - y;
    if (x < 0) break;
    if (x > slot.width) continue;
    if (x == 0) {
      edge[level.first_row + static_cast<std::uint32_t>(y)] = d;
      break;
    }
    d += pixels.at(slot.x + x - 1, slot.y + y - 1);
    if (y > 1) d += pixels.at(slot.x + x - 1, slot.y + y - 2);
    planes.row(slot, y)[planes.tilted + x] = d;
  }
}

/// Diagonals with x - y = -h .. w - 1. Those that come out of row 0 clear their word of it.
__global__ void tilted_down_right_kernel(SumPlanes planes, const IntegralLevel* levels, int count,
                                         std::uint32_t diagonals, const std::uint32_t* edge,
                                         const std::int32_t* run) {
  if (idle(run)) return;
  const std::uint32_t task = blockIdx.x * blockDim.x + threadIdx.x;
  if (task >= diagonals) return;
  const IntegralLevel& level = levels[part_of<&IntegralLevel::first_diagonal>(levels, count, task)];
  const AtlasSlot slot = level.slot;
  const int diagonal = static_cast<int>(task - level.first_diagonal) - slot.height;
  std::uint32_t t = 0;
  if (diagonal >= 0) {
    planes.row(slot, 0)[planes.tilted + diagonal] = 0;
    if (diagonal == slot.width - 1) planes.row(slot, 0)[planes.tilted + slot.width] = 0;
  }
  for (int y = 1; y <= slot.height; ++y) {
    const int x = diagonal + y;
    if (x > slot.width) break;
    if (x < 0) continue;
    std::uint32_t& at = planes.row(slot, y)[planes.tilted + x];
    if (x == 0) {
      for (int above = y; above > 0; above -= 2)
        t += edge[level.first_row + static_cast<std::uint32_t>(above)];
    } else {
      t += at;
    }
    at = t;
  }
}

std::uint32_t blocks(std::uint32_t tasks) { return (tasks - 1) / kBlock + 1; }

bool words_begin(const void* data, std::ptrdiff_t stride, int bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) == 0 &&
         stride % bytes == 0;
}

}  // namespace

Result<LevelIntegrals> LevelIntegrals::create(int src_width, int src_height,
                                              const std::vector<AtlasSlot>& slots, bool tilted,
                                              ScratchLayout& layout) {
  LevelIntegrals integrals;
  std::vector<IntegralLevel> levels;
  std::vector<SumTile> tiles;
  std::vector<ResizeTap> taps;
  std::uint64_t rows = 0, diagonals = 0;
  for (const AtlasSlot& slot : slots) {
    IntegralLevel level = {};
    level.slot = slot;
    level.first_row = static_cast<std::uint32_t>(rows);
    level.first_diagonal = static_cast<std::uint32_t>(diagonals);
    levels.push_back(level);
    rows += static_cast<std::uint64_t>(slot.height) + 1;
    diagonals += static_cast<std::uint64_t>(slot.width) + static_cast<std::uint64_t>(slot.height);
    if (std::max(rows, diagonals) > std::numeric_limits<std::int32_t>::max())
      return Status(StatusCode::kUnsupported, "the levels of this picture are too many");
    if (slot.x % kQuad != 0) integrals.aligned_ = false;
  }
  // Small levels first: their blocks take longest.
  for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot) {
    const LinearResize plan(src_width, src_height, slot->width, slot->height);
    const auto first_column = static_cast<std::uint32_t>(taps.size());
    add_taps(plan.columns(), taps);
    const auto first_row = static_cast<std::uint32_t>(taps.size());
    add_taps(plan.rows(), taps);
    const bool quads = quads_fit(src_width, *slot);
    const int columns = (slot->width - 1) / kColumns + 1;
    for (int band = 0; band * kTileRows < slot->height; ++band)
      for (int column = 0; column < columns; ++column)
        tiles.push_back({*slot, first_column, first_row, columns, band, column, quads,
                         slot->width == src_width && slot->height == src_height});
    if (tiles.size() * kColumns >
        static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      return Status(StatusCode::kUnsupported, "the levels of this picture are too many");
  }
  integrals.diagonals_ = tilted ? static_cast<std::uint32_t>(diagonals) : 0;
  if (Status s = take(upload(levels), integrals.levels_); !s.ok()) return s;
  if (Status s = take(upload(tiles), integrals.tiles_); !s.ok()) return s;
  if (Status s = take(upload(taps), integrals.taps_); !s.ok()) return s;
  if (Status s = take(upload(std::vector<std::uint64_t>(
                          tiles.size() * static_cast<std::size_t>(kColumns + kTileRows + 1))),
                      integrals.said_);
      !s.ok())
    return s;
  if (Status s = take(upload(std::vector<LaunchMark>{{1, 0}}), integrals.mark_); !s.ok()) return s;
  integrals.edge_ = layout.add<std::uint32_t>(tilted ? rows : 0);
  return Result<LevelIntegrals>(std::move(integrals));  // nvcc does not move by itself
}

Status LevelIntegrals::enqueue(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> pixels,
                               const SumPlanes& planes, const std::int32_t* run, Launcher launch) {
  const int count = static_cast<int>(levels_.size());
  if (count == 0) return {};
  if (!aligned_ || !words_begin(pixels.data, pixels.stride, 4) ||
      !words_begin(planes.data, planes.stride * 4, 16) || planes.squared % 4 != 0)
    return {StatusCode::kInvalidArgument, "integral: rows do not begin at whole vectors"};
  const bool words = words_begin(src.data, src.stride, 4);
  const auto tiles = static_cast<unsigned>(tiles_.size());
  Said of;
  of.columns = reinterpret_cast<SumWord*>(said_.data());
  of.rows = of.columns + std::size_t{tiles} * kColumns;
  of.tiles = of.rows + std::size_t{tiles} * kTileRows;
  of.launch = mark_.data();
  if (Status s = launch("levels and their sums", sum_kernel, {tiles, kBlock}, src, words, pixels,
                        planes, tiles_.data(), taps_.data(), of, run);
      !s.ok())
    return s;
  if (diagonals_ == 0) return {};
  if (Status s =
          launch("tilted sums to the left", tilted_down_left_kernel, {blocks(diagonals_), kBlock},
                 pixels, planes, levels_.data(), count, diagonals_, edge_.data(), run);
      !s.ok())
    return s;
  return launch("tilted sums to the right", tilted_down_right_kernel, {blocks(diagonals_), kBlock},
                planes, levels_.data(), count, diagonals_, edge_.data(), run);
}

}  // namespace cuface::cuda
