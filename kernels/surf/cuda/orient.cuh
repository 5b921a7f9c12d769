// What a thread or a block does for one keypoint's direction.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/ranks.cuh"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/surf/cuda/layers.h"
#include "kernels/surf/samples.h"

namespace cuface::cuda::surf {

using cuface::surf::GradientRing;

/// Whether a keypoint can be given a direction.
__device__ inline bool has_direction(const ImageView<const std::uint32_t>& sums, bool upright,
                                     const Tables& tables, const Keypoint& k) {
  const GradientRing ring = GradientRing::of(k);
  if (!ring.fits(sums)) return false;
  int x, y;
  // Mostly the middle one, which is half-way.
  for (int i = 0; !upright && i < tables.ring_count; ++i) {
    const int from_middle = (tables.ring_count / 2 + i) % tables.ring_count;
    if (ring.place(sums, k, tables.ring[from_middle], x, y)) return true;
  }
  return upright;
}

/// Threads of a block that finds a direction: one a gradient, and one a set of gradients.
inline constexpr int kMostRing = 128, kWarpsOfRing = kMostRing / kWarp;
static_assert(cuface::surf::kTurns <= kMostRing);

/// The gradients around a keypoint, for a block; and what its warps have found.
struct RingGradients {
  float x[kMostRing], y[kMostRing], directions[kMostRing];
  std::int32_t degrees[kMostRing];  ///< of one outside, which adds nothing to a sum: -1
  cuface::surf::Longest longest[kWarpsOfRing];
  std::int64_t across[kWarpsOfRing], down[kWarpsOfRing];
};

/// For a whole block: the sums of `count` sets of gradients; the longest. is_of(gradient, set) says
/// which are in a set, and is_set(set) whether it counts.
template <typename IsOf, typename IsSet>
__device__ inline float longest_of(RingGradients& all, int gradients, int count, const IsOf& is_of,
                                   const IsSet& is_set) {
  const int set = static_cast<int>(threadIdx.x);
  cuface::surf::Longest longest;
  if (set < count && is_set(set)) {
    float across = 0, down = 0;
#pragma unroll 8
    for (int i = 0; i < gradients; ++i) {
      if (!is_of(i, set)) continue;
      across += all.x[i];
      down += all.y[i];
    }
    longest.take(across, down, set);
  }
  for (int by = kWarp / 2; by > 0; by /= 2)
    longest.take(__shfl_xor_sync(kAllLanes, longest.x, by),
                 __shfl_xor_sync(kAllLanes, longest.y, by),
                 __shfl_xor_sync(kAllLanes, longest.number, by));
  if (set % kWarp == 0) all.longest[set / kWarp] = longest;
  __syncthreads();
  for (const cuface::surf::Longest& other : all.longest)
    longest.take(other.x, other.y, other.number);
  return longest.direction();
}

/// For a whole block: the direction of a keypoint that has one.
__device__ inline float direction_of(const ImageView<const std::uint32_t>& sums,
                                     const Tables& tables, const Keypoint& k, RingGradients& all) {
  using namespace cuface::surf;
  const int i = static_cast<int>(threadIdx.x);
  const GradientRing ring = GradientRing::of(k);
  const RingSample sample = i < tables.ring_count ? tables.ring[i] : RingSample{};
  if (tables.orientation == SurfOrientation::kCentroid) {
    const std::int64_t grey =
        i < tables.ring_count
            ? RingBoxes::of(ring.s).at(sums, k.x + static_cast<float>(sample.x) * ring.s,
                                       k.y + static_cast<float>(sample.y) * ring.s)
            : 0;
    std::int64_t across = sum_of_warp(sample.x * grey), down = sum_of_warp(sample.y * grey);
    if (i % kWarp == 0) {
      all.across[i / kWarp] = across;
      all.down[i / kWarp] = down;
    }
    __syncthreads();
    across = down = 0;
    for (int warp = 0; warp < kWarpsOfRing; ++warp) {
      across += all.across[warp];
      down += all.down[warp];
    }
    return direction(static_cast<float>(down), static_cast<float>(across));
  }
  int x, y, degrees = -1;
  float gx = 0, gy = 0, of = 0;
  if (i < tables.ring_count && ring.place(sums, k, sample, x, y)) {
    gx = answer(ring.wavelets.across, sums, x, y) * sample.weight;
    gy = answer(ring.wavelets.down, sums, x, y) * sample.weight;
    of = direction(gy, gx);
    degrees = nearest(of);
  }
  all.x[i] = gx;
  all.y[i] = gy;
  all.directions[i] = of;
  all.degrees[i] = degrees;
  __syncthreads();
  if (tables.orientation == SurfOrientation::kHaar)
    return longest_of(
        all, tables.ring_count, kTurns,
        [&](int gradient, int turn) { return is_of_turn(all.degrees[gradient], turn); },
        [](int) { return true; });
  return longest_of(
      all, tables.ring_count, tables.ring_count,
      [&](int gradient, int from) {
        return is_in_window(all.directions[gradient], all.directions[from]);
      },
      [&](int from) { return all.degrees[from] >= 0; });
}

}  // namespace cuface::cuda::surf
