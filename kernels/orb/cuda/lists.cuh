// Lists of several levels, one behind the other.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/orb/orb.h"

namespace cuface::cuda::orb {

/// For all threads of a block.
struct Concatenated {
  std::uint32_t begin[kMostOrbLevels + 1];

  /// Needs a barrier behind it.
  __device__ void make(const std::uint32_t* counts, int levels) {
    if (threadIdx.x >= kWarp) return;
    const int lane = static_cast<int>(threadIdx.x);
    const std::uint32_t mine = lane < levels ? counts[lane] : 0;
    begin[lane] = prefix_sum(mine) - mine;
    if (lane == kWarp - 1) begin[kMostOrbLevels] = begin[lane] + mine;
  }
  __device__ std::uint32_t size() const { return begin[kMostOrbLevels]; }
  /// The level of an entry.
  __device__ int level_of(std::uint32_t i, int levels) const {
    int level = 0;
    while (level + 1 < levels && begin[level + 1] <= i) ++level;
    return level;
  }
};
static_assert(kMostOrbLevels == kWarp);

}  // namespace cuface::cuda::orb
