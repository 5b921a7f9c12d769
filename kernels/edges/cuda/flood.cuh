// What of a tile hangs together with something, by a warp: a lane has a row of 64 pixels.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/edges/cuda/classify.h"

namespace cuface::cuda::edges {

static_assert(kTileHeight == kWarp && kTileWidth == 64);

/// A row's runs that have a seed, from there upwards: a carry goes from the lowest seed to the end
/// of its run. All seeds are of the row.
__device__ inline std::uint64_t filled_upwards(std::uint64_t row, std::uint64_t seeds) {
  return row & (~(row + seeds) | seeds);
}

/// Adds to `part`, which is a part of the tile, what of the tile hangs together with it: `row` is
/// the lane's. A winding edge takes many steps: false where that was not the end.
__device__ inline bool flood(std::uint64_t row, std::uint64_t& part) {
  constexpr int kSteps =
      40;  // an edge from the top to the bottom takes 32, and one that grows no more
  // Neighbours are the same ones in both orders of a row's pixels: each step ends in the other one.
  std::uint64_t reversed = __brevll(row);
#pragma unroll 1
  for (int step = 0; step < kSteps; ++step) {
    // The first and the last row have themselves for a neighbour.
    std::uint64_t near = part | __shfl_up_sync(kAllLanes, part, 1);
    near |= __shfl_down_sync(kAllLanes, part, 1);
    near |= near << 1 | near >> 1;
    const std::uint64_t up = filled_upwards(row, near & row), turned = __brevll(up);
    const std::uint64_t all = filled_upwards(reversed, turned);
    const bool grew = __any_sync(kAllLanes, up != part || all != turned);
    if (!grew) {
      if (step % 2 == 1) part = turned;
      return true;
    }
    part = all;
    const std::uint64_t row_before = row;
    row = reversed;
    reversed = row_before;
  }
  static_assert(kSteps % 2 == 0, "in the order of the row");
  return false;
}

}  // namespace cuface::cuda::edges
