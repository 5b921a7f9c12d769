// What a block computes around one keypoint of a level: the direction of its centroid, and the
// descriptor, of a blur that it makes for itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/ranks.cuh"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/features/device_features.h"
#include "kernels/orb/pattern.h"
#include "kernels/orb/rules.h"

namespace cuface::cuda::orb {

using cuface::orb::kBlurReach;
using cuface::orb::kRadius;
using cuface::orb::Pair;

inline constexpr int kThreads = 192, kWarps = kThreads / kWarp;
inline constexpr int kPairs = 8 * kBinaryBytes;
inline constexpr int kQuad = 4;

// What a descriptor reads of the blurred level, to each side: the pattern's radius, turned.
inline constexpr int kReach = 19, kFlat = 2 * kReach + 1;
// And of the level.
inline constexpr int kAround = kReach + kBlurReach, kSide = 2 * kAround + 1;
static_assert(kAround == kLeastEdge, "all pixels lie in the level");
inline constexpr int kStride =
    (kSide + kQuad - 1 + kQuad - 1) / kQuad * kQuad;  // from any byte of a word
// Of a thread that blurs: rows of a column, and then columns of a row.
inline constexpr int kRowsEach = 10, kColumnsEach = 10;
static_assert(kThreads >= kSide * ((kFlat + kRowsEach - 1) / kRowsEach));
static_assert(kThreads - kWarp >= kFlat * ((kFlat + kColumnsEach - 1) / kColumnsEach),
              "the last warp is free for the direction");
inline constexpr int kFlatStride = 44;  // an odd number of words: no two threads want one bank

/// kHalfWidth, four bits each. The circle is the same lying down.
constexpr std::uint64_t half_widths() {
  std::uint64_t all = 0;
  for (int i = 0; i <= kRadius; ++i)
    all |= static_cast<std::uint64_t>(cuface::orb::kHalfWidth[i]) << (4 * i);
  return all;
}
constexpr bool is_circle_symmetric() {
  for (int v = 0; v <= kRadius; ++v)
    for (int u = 0; u <= kRadius; ++u)
      if ((u <= cuface::orb::kHalfWidth[v]) != (v <= cuface::orb::kHalfWidth[u])) return false;
  return true;
}
static_assert(is_circle_symmetric());

struct KeypointPatch {
  alignas(4) std::uint8_t grey[kSide * kStride];
  float columns[kFlat * kSide];
  std::uint8_t flat[kFlat * kFlatStride];
  std::int32_t moments[kWarps][2];
  float cos, sin;
};

/// The level around (x, y), whose first column is that of the word in which it lies; where in a
/// row it begins.
__device__ inline int load_patch(ImageView<const std::uint8_t> level, int x, int y,
                                 std::uint8_t* to) {
  const bool words =
      reinterpret_cast<std::uintptr_t>(level.data) % kQuad == 0 && level.stride % kQuad == 0;
  const int left = x - kAround, first = left / kQuad * kQuad;
  for (int i = static_cast<int>(threadIdx.x); i < kSide * kStride / kQuad; i += kThreads) {
    const int row = i / (kStride / kQuad), u = first + i % (kStride / kQuad) * kQuad;
    const std::uint8_t* from = level.row(y - kAround + row);
    std::uint32_t quad = 0;
    if (words && u + kQuad <= level.width) {
      quad = *reinterpret_cast<const std::uint32_t*>(from + u);
    } else {
      for (int k = 0; k < kQuad; ++k)
        quad |= static_cast<std::uint32_t>(from[min(u + k, level.width - 1)]) << (8 * k);
    }
    *reinterpret_cast<std::uint32_t*>(to + i * kQuad) = quad;
  }
  return left - first;
}

/// A lane a column of the circle, a warp some of its rows.
__device__ inline void add_moments(const std::uint8_t* middle, int warp, int lane,
                                   std::int32_t (&sums)[2]) {
  const int u = lane - kRadius;
  std::int32_t across = 0, down = 0;
  if (u <= kRadius) {
    const int half = static_cast<int>(half_widths() >> (4 * (u < 0 ? -u : u)) & 15);
    for (int v = warp - kRadius; v <= kRadius; v += kWarps) {
      if (v < -half || v > half) continue;
      const int grey = middle[v * kStride + u];
      across += grey;
      down += v * grey;
    }
  }
  across = sum_of_warp(u * across);
  down = sum_of_warp(down);
  if (lane == 0) {
    sums[0] = across;
    sums[1] = down;
  }
}

/// The blur down the columns, then along the rows: sums in the order of cuface::orb::blurred().
__device__ inline void blur_columns(const std::uint8_t* grey, float* out) {
  const int thread = static_cast<int>(threadIdx.x);
  const int column = thread % kSide, first = thread / kSide * kRowsEach;
  if (first >= kFlat) return;
  int values[kRowsEach + 2 * kBlurReach];
#pragma unroll
  for (int i = 0; i < kRowsEach + 2 * kBlurReach; ++i)
    values[i] = grey[min(first + i, kSide - 1) * kStride + column];
#pragma unroll
  for (int i = 0; i < kRowsEach; ++i) {
    if (first + i >= kFlat) break;
    const int* v = values + i + kBlurReach;
    out[(first + i) * kSide + column] =
        cuface::orb::blur_of(static_cast<float>(v[0]), static_cast<float>(v[-1] + v[1]),
                             static_cast<float>(v[-2] + v[2]), static_cast<float>(v[-3] + v[3]));
  }
}

__device__ inline void blur_rows(const float* columns, std::uint8_t* out) {
  const int thread = static_cast<int>(threadIdx.x);
  const int row = thread % kFlat, first = thread / kFlat * kColumnsEach;
  if (first >= kFlat) return;
  float values[kColumnsEach + 2 * kBlurReach];
#pragma unroll
  for (int i = 0; i < kColumnsEach + 2 * kBlurReach; ++i)
    values[i] = columns[row * kSide + min(first + i, kSide - 1)];
#pragma unroll
  for (int i = 0; i < kColumnsEach; ++i) {
    if (first + i >= kFlat) break;
    const float* v = values + i + kBlurReach;
    const float sum = cuface::orb::blur_of(v[0], v[-1] + v[1], v[-2] + v[2], v[-3] + v[3]);
    out[row * kFlatStride + first + i] = static_cast<std::uint8_t>(__float2int_rn(sum));
  }
}

/// For all threads of a block, behind load_patch(), which gave `begin`, and a barrier.
/// angle(direction) is asked in one thread: in degrees.
template <typename Angle>
__device__ inline void describe_patch(KeypointPatch& patch, int begin, bool wants_direction,
                                      const Pair* pattern, std::uint8_t* descriptor,
                                      const Angle& angle) {
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  if (wants_direction)
    add_moments(patch.grey + kAround * kStride + begin + kAround, warp, lane, patch.moments[warp]);
  blur_columns(patch.grey + begin, patch.columns);
  __syncthreads();
  if (thread == kThreads - kWarp) {
    float direction = 0;
    if (wants_direction) {
      std::int32_t across = 0, down = 0;
      for (const auto& sums : patch.moments) {
        across += sums[0];
        down += sums[1];
      }
      direction = cuface::orb::direction(static_cast<float>(down), static_cast<float>(across));
    }
    const Roll roll = cuface::orb::roll_of(angle(direction));
    patch.cos = roll.cos;
    patch.sin = roll.sin;
  }
  blur_rows(patch.columns, patch.flat);
  __syncthreads();
  const Roll roll{patch.cos, patch.sin};
  for (int pair = thread; pair < kPairs; pair += kThreads) {
    const Pair at = pattern[pair];
    const auto value = [&](int across, int down) {
      const auto u = static_cast<float>(across), v = static_cast<float>(down);
      const int px = __float2int_rn(u * roll.cos - v * roll.sin);
      const int py = __float2int_rn(u * roll.sin + v * roll.cos);
      return patch.flat[(kReach + py) * kFlatStride + kReach + px];
    };
    const unsigned less = __ballot_sync(kAllLanes, value(at.x0, at.y0) < value(at.x1, at.y1));
    if (lane == 0) reinterpret_cast<std::uint32_t*>(descriptor)[pair / kWarp] = less;
  }
  __syncthreads();
}

}  // namespace cuface::cuda::orb
