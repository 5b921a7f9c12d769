// Boxes of moving cells and their ids (events.h), by a warp: a lane has one or two rows of cells,
// and up to two boxes.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/reduce.cuh"
#include "kernels/motion/events.h"

namespace cuface::cuda::motion {

static_assert(kMostMotionCells == 2 * kWarp && kMostMotionBoxes == 2 * kWarp);

/// A word of each row of cells. The lane's rows are `lane` and, of two, `lane + kWarp`. Few cells
/// need but one word of 32 bits, and a part of the time.
template <typename Word, int kRows>
struct CellRows {
  Word row[kRows] = {};

  CellRows() = default;
  template <typename WordOf>
  __device__ CellRows(int lane, const WordOf& word_of) {
    for (int h = 0; h < kRows; ++h) row[h] = static_cast<Word>(word_of(lane + h * kWarp));
  }
  /// The columns that have a cell, in all lanes.
  __device__ std::uint64_t columns() const {
    std::uint64_t own = 0;
    for (int h = 0; h < kRows; ++h) own |= row[h];
    std::uint64_t out = bits_of_warp(static_cast<unsigned>(own));
    if constexpr (sizeof(Word) > sizeof(unsigned))
      out |= std::uint64_t{bits_of_warp(static_cast<unsigned>(own >> 32))} << 32;
    return out;
  }
  /// The rows that have one.
  __device__ std::uint64_t used() const {
    std::uint64_t out = 0;
    for (int h = 0; h < kRows; ++h)
      out |= std::uint64_t{__ballot_sync(kAllLanes, row[h] != 0)} << h * kWarp;
    return out;
  }
  __device__ int cells() const {
    int own = 0;
    for (int h = 0; h < kRows; ++h) own += count_bits(row[h]);
    return sum_of_warp(own);
  }
  /// around() of each row.
  __device__ CellRows near(int lane) const {
    Word across[kRows];
    for (int h = 0; h < kRows; ++h) across[h] = row[h] | row[h] << 1 | row[h] >> 1;
    CellRows out;
    for (int h = 0; h < kRows; ++h) {
      Word above = __shfl_up_sync(kAllLanes, across[h], 1);
      Word below = __shfl_down_sync(kAllLanes, across[h], 1);
      if (lane == 0) above = 0;
      if (lane == kWarp - 1) below = 0;
      if constexpr (kRows == 2) {
        const Word other = __shfl_sync(kAllLanes, across[1 - h], h == 0 ? 0 : kWarp - 1);
        if (lane == (h == 0 ? kWarp - 1 : 0)) (h == 0 ? below : above) = other;
      }
      out.row[h] = across[h] | above | below;
    }
    return out;
  }
};

/// find_boxes(): the lane's boxes. How many there are in all, also beyond those there is room for.
template <typename Word, int kRows>
__device__ int find_boxes_by_warp(CellRows<Word, kRows> left, MotionBox (&own)[2]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  int boxes = 0;
  for (std::uint64_t used = left.used(); used != 0; used = left.used(), ++boxes) {
    MotionBox box;
    box.top = __ffsll(static_cast<long long>(used)) - 1;
    CellRows<Word, kRows> part;
    for (int h = 0; h < kRows; ++h)
      part.row[h] = lane + h * kWarp == box.top ? left.row[h] & (~left.row[h] + 1) : 0;
    for (bool grew = true; grew;) {
      CellRows<Word, kRows> more = part.near(lane);
      bool other = false;
      for (int h = 0; h < kRows; ++h) {
        more.row[h] &= left.row[h];
        other = other || more.row[h] != part.row[h];
      }
      grew = __any_sync(kAllLanes, other) != 0;
      part = more;
    }
    for (int h = 0; h < kRows; ++h) left.row[h] &= ~part.row[h];
    const std::uint64_t columns = part.columns();
    box.left = __ffsll(static_cast<long long>(columns)) - 1;
    box.right = kMostMotionCells - __clzll(static_cast<long long>(columns));
    box.bottom = kMostMotionCells - __clzll(static_cast<long long>(part.used()));
    box.cells = part.cells();
    for (int h = 0; h < 2; ++h)
      if (boxes == lane + h * kWarp) own[h] = box;
  }
  return boxes;
}

/// keep_ids(), of the lanes' boxes.
__device__ inline void keep_ids_by_warp(const MotionPlan& plan, std::int64_t time, int count,
                                        MotionTracks& state, MotionBox (&own)[2]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, known_count = state.known_count;
  int kept = 0;
  for (int k = 0; k < known_count; ++k) {
    const KnownMotion known = state.known[k];
    // Of equal ones the first: it has the greatest key.
    int best = 0;
    for (int h = 0; h * kWarp < count; ++h)
      if (const int i = lane + h * kWarp; i < count && own[h].id == 0)
        best = max(best,
                   common_cells(known.box, own[h]) * kMostMotionBoxes + (kMostMotionBoxes - 1 - i));
    if (count > 0) best = largest_of_warp(best);
    if (best >= kMostMotionBoxes) {
      const int i = kMostMotionBoxes - 1 - best % kMostMotionBoxes;
      for (int h = 0; h < 2; ++h) {
        if (i != lane + h * kWarp) continue;
        own[h].id = known.box.id;
        state.known[kept] = {own[h], time};
      }
    } else if (time - known.seen > plan.config.gap) {
      continue;
    } else if (lane == 0 && kept != k) {
      state.known[kept] = known;
    }
    ++kept;
    __syncwarp();
  }
  if (lane == 0) state.known_count = kept;
}

/// follow_moving(), but for the event.
template <typename Word, int kRows>
__device__ void follow_moving_by_warp(const MotionPlan& plan, std::int64_t time,
                                      const CellRows<Word, kRows>& moving, MotionTracks& state,
                                      MotionSummary& result) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  MotionBox own[2];
  const int boxes = find_boxes_by_warp(moving, own), count = min(boxes, kMostMotionBoxes);
  keep_ids_by_warp(plan, time, count, state, own);
  bool anew = false;
  for (int h = 0; h < 2; ++h) {
    if (lane + h * kWarp >= count) continue;
    anew = anew || own[h].id == 0;
    result.boxes[lane + h * kWarp] = own[h];
  }
  if (lane == 0) {
    result.count = count;
    result.beyond = boxes - count;
  }
  if (!__any_sync(kAllLanes, anew)) return;
  __syncwarp();
  if (lane == 0) give_new_ids(time, state, result);
  __syncwarp();
}

}  // namespace cuface::cuda::motion
