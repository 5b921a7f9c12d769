#include <algorithm>
#include <limits>

#include "kernels/common/cuda_table.h"
#include "kernels/common/warp.cuh"
#include "kernels/integral/integral_cuda.h"

namespace cuface::cuda {
namespace {

constexpr int kBlock = 256;
constexpr int kBatch = 8;  // rows a thread reads ahead

/// A warp a row of sums: prefix sums along the row. The sum of a row of 16384 pixels fits 23 bits
/// and its squares 31, so that one scan of 64-bit words does both.
__global__ void row_kernel(ImageView<const std::uint8_t> pixels, SumPlanes planes,
                           const IntegralLevel* levels, int count, std::uint32_t rows,
                           const std::int32_t* run) {
  if (idle(run)) return;
  const std::uint32_t task = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  if (task >= rows) return;
  const IntegralLevel& level = levels[part_of<&IntegralLevel::first_row>(levels, count, task)];
  const AtlasSlot slot = level.slot;
  const int y = static_cast<int>(task - level.first_row);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  std::uint32_t* sum = planes.row(slot, y);
  std::uint32_t* squared = sum + planes.squared;
  if (y == 0) {
    for (int x = lane; x <= slot.width; x += kWarp) sum[x] = squared[x] = 0;
    return;
  }
  if (lane == 0) sum[0] = squared[0] = 0;
  const std::uint8_t* in = pixels.row(slot.y + y - 1) + slot.x;
  std::uint64_t before = 0;
  for (int begin = 0; begin < slot.width; begin += kWarp) {
    const int x = begin + lane;
    const std::uint64_t v = x < slot.width ? in[x] : 0;
    std::uint64_t here = v | (v * v) << 32;
    for (int apart = 1; apart < kWarp; apart *= 2) {
      const std::uint64_t left = __shfl_up_sync(kAllLanes, here, static_cast<unsigned>(apart));
      if (lane >= apart) here += left;
    }
    here += before;
    before = __shfl_sync(kAllLanes, here, kWarp - 1);
    if (x < slot.width) {
      sum[x + 1] = static_cast<std::uint32_t>(here);
      squared[x + 1] = static_cast<std::uint32_t>(here >> 32);
    }
  }
}

/// A thread a column: prefix sums of the rows' prefix sums.
__global__ void column_kernel(SumPlanes planes, const IntegralLevel* levels, int count,
                              std::uint32_t columns, const std::int32_t* run) {
  if (idle(run)) return;
  const std::uint32_t task = blockIdx.x * blockDim.x + threadIdx.x;
  if (task >= columns) return;
  const IntegralLevel& level = levels[part_of<&IntegralLevel::first_column>(levels, count, task)];
  const int height = level.slot.height;
  std::uint32_t* sum = planes.row(level.slot, 1) + (task - level.first_column) + 1;
  std::uint32_t total = 0, total_squared = 0;
  for (int y = 0; y < height; y += kBatch) {
    std::uint32_t s[kBatch], q[kBatch];
    for (int k = 0; k < kBatch; ++k) {
      if (y + k >= height) break;
      const std::uint32_t* at = sum + (y + k) * planes.stride;
      s[k] = at[0];
      q[k] = at[planes.squared];
    }
    for (int k = 0; k < kBatch; ++k) {
      if (y + k >= height) break;
      std::uint32_t* at = sum + (y + k) * planes.stride;
      at[0] = total += s[k];
      at[planes.squared] = total_squared += q[k];
    }
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

}  // namespace

Result<LevelIntegrals> LevelIntegrals::create(const std::vector<AtlasSlot>& slots, bool tilted,
                                              ScratchLayout& layout) {
  LevelIntegrals integrals;
  std::vector<IntegralLevel> levels;
  std::uint64_t rows = 0, columns = 0, diagonals = 0;
  for (const AtlasSlot& slot : slots) {
    levels.push_back({slot, static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(columns),
                      static_cast<std::uint32_t>(diagonals)});
    rows += static_cast<std::uint64_t>(slot.height) + 1;
    columns += static_cast<std::uint64_t>(slot.width);
    diagonals += static_cast<std::uint64_t>(slot.width) + static_cast<std::uint64_t>(slot.height);
    if (std::max(rows * kWarp, diagonals) > std::numeric_limits<std::int32_t>::max())
      return Status(StatusCode::kUnsupported, "the levels of this picture are too many");
  }
  integrals.rows_ = static_cast<std::uint32_t>(rows);
  integrals.columns_ = static_cast<std::uint32_t>(columns);
  integrals.diagonals_ = tilted ? static_cast<std::uint32_t>(diagonals) : 0;
  if (Status s = take(upload(levels), integrals.levels_); !s.ok()) return s;
  integrals.edge_ = layout.add<std::uint32_t>(tilted ? rows : 0);
  return Result<LevelIntegrals>(std::move(integrals));  // nvcc does not move by itself
}

Status LevelIntegrals::enqueue(ImageView<const std::uint8_t> pixels, const SumPlanes& planes,
                               const std::int32_t* run, Launcher launch) {
  const int count = static_cast<int>(levels_.size());
  if (count == 0) return {};
  if (Status s = launch("integral rows", row_kernel, {blocks(rows_ * kWarp), kBlock}, pixels,
                        planes, levels_.data(), count, rows_, run);
      !s.ok())
    return s;
  if (Status s = launch("integral columns", column_kernel, {blocks(columns_), kBlock}, planes,
                        levels_.data(), count, columns_, run);
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
