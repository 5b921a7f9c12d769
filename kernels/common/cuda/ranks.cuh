// The greatest of many values.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/warp.cuh"

namespace cuface::cuda {

/// Of a byte of a key.
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

/// For all kThreads of a block: the key_of() the wanted-th greatest of `count` values, a byte at a
/// time from the highest on. value(i) is asked several times.
template <int kThreads, typename Value>
__device__ std::uint32_t key_of_rank(const Value& value, std::uint32_t count,
                                     std::uint32_t wanted) {
  static_assert(kThreads >= kBins);
  __shared__ std::uint32_t bins[kBins];
  __shared__ std::uint32_t prefix, left;
  const unsigned thread = threadIdx.x;
  if (thread == 0) {
    prefix = 0;
    left = wanted;
  }
  for (int shift = 24; shift >= 0; shift -= 8) {
    if (thread < kBins) bins[thread] = 0;
    __syncthreads();
    const std::uint32_t high = prefix;
    for (std::uint32_t i = thread; i < count; i += kThreads) {
      const std::uint32_t key = key_of(value(i));
      if (shift == 24 || key >> (shift + 8) == high) atomicAdd(&bins[key >> shift & 0xff], 1u);
    }
    __syncthreads();
    if (thread < kWarp) {
      const std::uint32_t rank = left;
      __syncwarp();
      find_from_top(bins, rank, static_cast<int>(thread), [&](int bin, std::uint32_t above) {
        prefix = high << 8 | static_cast<std::uint32_t>(bin);
        left = rank - above;
      });
    }
    __syncthreads();
  }
  return prefix;
}

}  // namespace cuface::cuda
