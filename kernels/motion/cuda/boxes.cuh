// Boxes of moving cells and their ids (events.h), by a warp: a lane has two rows of cells, or two
// boxes.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/reduce.cuh"
#include "kernels/motion/events.h"

namespace cuface::cuda::motion {

static_assert(kMostMotionCells == 2 * kWarp && kMostMotionBoxes == 2 * kWarp);

/// One word of each row of cells. The lane's rows are `lane` and `lane + kWarp`.
struct CellRows {
  std::uint64_t row[2] = {};

  __device__ CellRows operator&(const CellRows& other) const {
    return {{row[0] & other.row[0], row[1] & other.row[1]}};
  }
  __device__ bool operator!=(const CellRows& other) const {
    return row[0] != other.row[0] || row[1] != other.row[1];
  }
  /// A bit for each row that has a cell.
  __device__ std::uint64_t used() const {
    return __ballot_sync(kAllLanes, row[0] != 0) |
           std::uint64_t{__ballot_sync(kAllLanes, row[1] != 0)} << kWarp;
  }
  /// around() of each row.
  __device__ CellRows near(int lane) const {
    const std::uint64_t across[2] = {row[0] | row[0] << 1 | row[0] >> 1,
                                     row[1] | row[1] << 1 | row[1] >> 1};
    const std::uint64_t last = __shfl_sync(kAllLanes, across[0], kWarp - 1);
    const std::uint64_t next = __shfl_sync(kAllLanes, across[1], 0);
    CellRows out;
    for (int h = 0; h < 2; ++h) {
      const std::uint64_t above = __shfl_up_sync(kAllLanes, across[h], 1);
      const std::uint64_t below = __shfl_down_sync(kAllLanes, across[h], 1);
      const std::uint64_t upper = lane > 0 ? above : h == 0 ? 0 : last;
      const std::uint64_t lower = lane < kWarp - 1 ? below : h == 0 ? next : 0;
      out.row[h] = across[h] | upper | lower;
    }
    return out;
  }
};

/// find_boxes().
__device__ inline void find_boxes_by_warp(const MotionPlan& plan, MotionSummary& result) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  CellRows left;
  for (int h = 0; h < 2; ++h)
    if (const int r = lane + h * kWarp; r < plan.config.rows) left.row[h] = result.moving[r];
  int boxes = 0;
  for (std::uint64_t used = left.used(); used != 0; used = left.used(), ++boxes) {
    const int top = __ffsll(static_cast<long long>(used)) - 1;
    CellRows part;
    for (int h = 0; h < 2; ++h)
      part.row[h] = lane + h * kWarp == top ? left.row[h] & (~left.row[h] + 1) : 0;
    for (bool grew = true; grew;) {
      const CellRows more = part.near(lane) & left;
      grew = __any_sync(kAllLanes, more != part) != 0;
      part = more;
    }
    const std::uint64_t own = part.row[0] | part.row[1];
    const std::uint64_t columns = bits_of_warp(static_cast<unsigned>(own)) |
                                  std::uint64_t{bits_of_warp(static_cast<unsigned>(own >> 32))}
                                      << 32;
    const int cells = sum_of_warp(count_bits(part.row[0]) + count_bits(part.row[1]));
    MotionBox box;
    box.left = __ffsll(static_cast<long long>(columns)) - 1;
    box.right = kMostMotionCells - __clzll(static_cast<long long>(columns));
    box.top = top;
    box.bottom = kMostMotionCells - __clzll(static_cast<long long>(part.used()));
    box.cells = cells;
    if (lane == 0 && boxes < kMostMotionBoxes) result.boxes[boxes] = box;
    for (int h = 0; h < 2; ++h) left.row[h] &= ~part.row[h];
  }
  if (lane == 0) {
    result.count = min(boxes, kMostMotionBoxes);
    result.beyond = boxes - result.count;
  }
  __syncwarp();
}

/// keep_ids().
__device__ inline void keep_ids_by_warp(const MotionPlan& plan, std::int64_t time,
                                        MotionTracks& state, MotionSummary& result) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int known_count = state.known_count, count = result.count;
  std::uint64_t taken = 0;
  int kept = 0;
  for (int k = 0; k < known_count; ++k) {
    KnownMotion known = state.known[k];
    // Of equal ones the first: it has the greatest key.
    int best = 0;
    for (int i = lane; i < count; i += kWarp)
      if ((taken >> i & 1) == 0)
        best = max(best, common_cells(known.box, result.boxes[i]) * kMostMotionBoxes +
                             (kMostMotionBoxes - 1 - i));
    best = largest_of_warp(best);
    __syncwarp();  // all lanes have read what the first one writes
    if (best >= kMostMotionBoxes) {
      const int i = kMostMotionBoxes - 1 - best % kMostMotionBoxes;
      taken |= std::uint64_t{1} << i;
      if (lane == 0) {
        result.boxes[i].id = known.box.id;
        known = {result.boxes[i], time};
      }
    } else if (time - known.seen > plan.config.gap) {
      continue;
    }
    if (lane == 0) state.known[kept] = known;
    ++kept;
    __syncwarp();
  }
  if (lane == 0) state.known_count = kept;
  __syncwarp();
}

/// follow_moving().
__device__ inline void follow_moving_by_warp(const MotionPlan& plan, std::int64_t time,
                                             MotionTracks& state, MotionSummary& result) {
  if (result.moving_cells > 0) find_boxes_by_warp(plan, result);
  keep_ids_by_warp(plan, time, state, result);
  if (threadIdx.x % kWarp == 0) {
    give_new_ids(time, state, result);
    follow_event(plan, time, state, result);
  }
  __syncwarp();
}

}  // namespace cuface::cuda::motion
