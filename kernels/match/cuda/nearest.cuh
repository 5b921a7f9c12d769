// What the kernels that look for the nearest descriptors share.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/match/cuda/nearest.h"
#include "kernels/match/reference.h"

namespace cuface::cuda::match {

/// Takes in one more, which comes later in its set.
__device__ inline void take(Nearest& nearest, std::uint32_t distance, int index) {
  if (distance < nearest.first) {
    nearest = {distance, nearest.first, index};
  } else {
    nearest.second = min(nearest.second, distance);
  }
}

/// Takes in those of others; among equally near ones the first of the set counts.
__device__ inline void merge(Nearest& nearest, const Nearest& other) {
  const bool others =
      other.first < nearest.first || (other.first == nearest.first && other.index < nearest.index);
  const std::uint32_t farther = max(nearest.first, other.first);
  nearest.second = min(min(nearest.second, other.second), farther);
  if (!others) return;
  nearest.first = other.first;
  nearest.index = other.index;
}

using cuface::match::kParts;

/// The parts in the order of cuface::match::squared_distance().
__device__ inline float folded(float (&parts)[kParts]) {
#pragma unroll
  for (int step = 2; step <= kParts; step *= 2) {
#pragma unroll
    for (int i = 0; i < kParts / step; ++i) parts[i] += parts[i + kParts / step];
  }
  return parts[0];
}

constexpr int kNobody = -1;

/// A word that is the greater the nearer a query is, and of equally near ones for the first.
__device__ inline Owner owner_of(std::uint32_t distance, int query) {
  return ~(static_cast<Owner>(distance) << 32 | static_cast<std::uint32_t>(query));
}

}  // namespace cuface::cuda::match
