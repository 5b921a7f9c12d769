// What a thread or a warp does for one keypoint's direction.
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

inline constexpr int kMostRing = 128;

/// The gradients around a keypoint, for a warp.
struct RingGradients {
  float x[kMostRing], y[kMostRing], directions[kMostRing];
  std::int32_t degrees[kMostRing];  ///< of one outside, which adds nothing to a sum: -1
};

/// For a whole warp: the sums of `count` sets of gradients, of which a lane has every 32nd; the
/// longest. is_of(gradient, set) says which are in a set, and is_set(set) whether it counts.
template <int kEach, typename IsOf, typename IsSet>
__device__ inline float longest_of(const RingGradients& all, int gradients, int count,
                                   const IsOf& is_of, const IsSet& is_set) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  float across[kEach], down[kEach];
#pragma unroll
  for (int t = 0; t < kEach; ++t) across[t] = down[t] = 0;
  for (int i = 0; i < gradients; ++i) {
    const float gx = all.x[i], gy = all.y[i];
#pragma unroll
    for (int t = 0; t < kEach; ++t) {
      if (!is_of(i, lane + t * kWarp)) continue;
      across[t] += gx;
      down[t] += gy;
    }
  }
  cuface::surf::Longest longest;
#pragma unroll
  for (int t = 0; t < kEach; ++t) {
    const int set = lane + t * kWarp;
    if (set < count && is_set(set)) longest.take(across[t], down[t], set);
  }
  for (int by = kWarp / 2; by > 0; by /= 2)
    longest.take(__shfl_xor_sync(kAllLanes, longest.x, by),
                 __shfl_xor_sync(kAllLanes, longest.y, by),
                 __shfl_xor_sync(kAllLanes, longest.number, by));
  return longest.direction();
}

/// For a whole warp: the direction of a keypoint that has one.
__device__ inline float direction_of(const ImageView<const std::uint32_t>& sums,
                                     const Tables& tables, const Keypoint& k, RingGradients& all) {
  using namespace cuface::surf;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const GradientRing ring = GradientRing::of(k);
  if (tables.orientation == SurfOrientation::kCentroid) {
    const RingBoxes boxes = RingBoxes::of(ring.s);
    std::int64_t across = 0, down = 0;
    for (int i = lane; i < tables.ring_count; i += kWarp) {
      const RingSample sample = tables.ring[i];
      const std::int64_t grey = boxes.at(sums, k.x + static_cast<float>(sample.x) * ring.s,
                                         k.y + static_cast<float>(sample.y) * ring.s);
      across += sample.x * grey;
      down += sample.y * grey;
    }
    return direction(static_cast<float>(sum_of_warp(down)),
                     static_cast<float>(sum_of_warp(across)));
  }
  for (int i = lane; i < tables.ring_count; i += kWarp) {
    const RingSample sample = tables.ring[i];
    int x, y, degrees = -1;
    float gx = 0, gy = 0, of = 0;
    if (ring.place(sums, k, sample, x, y)) {
      gx = answer(ring.wavelets.across, sums, x, y) * sample.weight;
      gy = answer(ring.wavelets.down, sums, x, y) * sample.weight;
      of = direction(gy, gx);
      degrees = nearest(of);
    }
    all.x[i] = gx;
    all.y[i] = gy;
    all.directions[i] = of;
    all.degrees[i] = degrees;
  }
  __syncwarp();
  const float angle = tables.orientation == SurfOrientation::kHaar
                          ? longest_of<(kTurns + kWarp - 1) / kWarp>(
                                all, tables.ring_count, kTurns,
                                [&](int i, int turn) { return is_of_turn(all.degrees[i], turn); },
                                [](int) { return true; })
                          : longest_of<kMostRing / kWarp>(
                                all, tables.ring_count, tables.ring_count,
                                [&](int i, int from) {
                                  return is_in_window(all.directions[i], all.directions[from]);
                                },
                                [&](int from) { return all.degrees[from] >= 0; });
  __syncwarp();
  return angle;
}

}  // namespace cuface::cuda::surf
