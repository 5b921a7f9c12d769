// Which of many values are the greatest, and lists of several levels one behind the other.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/warp.cuh"

namespace cuface::cuda::orb {

inline constexpr int kBins = 256, kBinsOfLane = kBins / kWarp;

template <typename T>
__device__ inline T sum_of_warp(T value) {
  for (int by = kWarp / 2; by > 0; by /= 2) value += __shfl_xor_sync(kAllLanes, value, by);
  return value;
}

/// For a whole warp, with the same arguments: calls found(bin, above) in one lane, if the bins hold
/// as many as `wanted`, at least 1: in that bin lies the wanted-th from the last bin on, `above`
/// are in those behind it.
template <typename Found>
__device__ inline void find_from_top(const std::uint32_t* bins, std::uint32_t wanted, int lane,
                                     const Found& found) {
  std::uint32_t mine[kBinsOfLane], sum = 0;
#pragma unroll
  for (int k = 0; k < kBinsOfLane; ++k) {
    mine[k] = bins[kBins - 1 - lane * kBinsOfLane - k];
    sum += mine[k];
  }
  std::uint32_t above = prefix_sum(sum) - sum;
  if (above >= wanted || above + sum < wanted) return;
#pragma unroll
  for (int k = 0; k < kBinsOfLane; ++k) {
    if (above < wanted && above + mine[k] >= wanted)
      found(kBins - 1 - lane * kBinsOfLane - k, above);
    above += mine[k];
  }
}

/// A number for a float that grows with it; both zeros have the same.
__device__ inline std::uint32_t key_of(float value) {
  const std::uint32_t bits = value == 0 ? 0 : __float_as_uint(value);
  return bits >> 31 ? ~bits : bits | 1u << 31;
}

/// Lists of the levels, one behind the other, for all threads of a block.
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
