// A tile of a step in a block's shared memory: its shapes, who has which part of it, and how
// weights come there.
#pragma once

#include <cuda_pipeline.h>

#include <cstddef>
#include <type_traits>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/network/cuda/forward.h"
#include "kernels/network/rules.h"

namespace cuface::cuda {

__host__ __device__ constexpr std::size_t size(int value) {
  return static_cast<std::size_t>(value);
}

__device__ inline float4 larger_of(const float4& a, const float4& b) {
  return {network::larger(a.x, b.x), network::larger(a.y, b.y), network::larger(a.z, b.z),
          network::larger(a.w, b.w)};
}

__device__ inline void add_product(float4& sum, float factor, const float4& weights) {
  sum.x += factor * weights.x;
  sum.y += factor * weights.y;
  sum.z += factor * weights.z;
  sum.w += factor * weights.w;
}

__device__ inline float4 rectified_if(bool relu, const float4& v) {
  return relu ? float4{network::rectified(v.x), network::rectified(v.y), network::rectified(v.z),
                       network::rectified(v.w)}
              : v;
}

__device__ inline const float4& quad(const float* at) {
  return *reinterpret_cast<const float4*>(at);
}
__device__ inline float4& quad(float* at) { return *reinterpret_cast<float4*>(at); }

template <int kTile>
struct TileShape {
  static constexpr int kWidth = kTiles[kTile].width, kHeight = kTiles[kTile].height;
  static constexpr int kGroup = kTiles[kTile].channels;
  static constexpr int kSide = kWidth + 2, kPixels = kSide * (kHeight + 2);  // with its border
  static constexpr int kPictureSide = 2 * kSide + 1;
  static constexpr int kPicturePixels = kPictureSide * (2 * (kHeight + 2) + 1);
  /// Channels of a step's input in shared memory at once.
  static constexpr int kChunk = kTile == kWideTile ? 16 : kTile == kLargeTile ? 32 : 64;
  /// Pixels of a thread, each with four of kGroup channels: they share what it reads of the
  /// weights.
  static constexpr int kMost = kTile == kSmallTile ? 3 : 5;
  static constexpr int kThreads = kPixels * (kGroup / 4) / kMost;
  static_assert(kThreads % kWarp == 0 && kThreads * kMost == kPixels * (kGroup / 4));
  /// Pixels of a thread, one below the other, in the depthwise convolution.
  static constexpr int kStrip = kHeight / 2;
  /// Blocks that a processor is to hold at once: so few registers has a thread.
  static constexpr int kBlocks = kTile == kSmallTile ? 8 : 5;
};

/// Rows are four floats longer than their channels: no two pixels of a warp share a bank.
template <int kTile>
struct TileMemory {
  using S = TileShape<kTile>;
  /// What the step begins with, then what its pointwise convolution makes of it.
  alignas(16) float tile[S::kPixels][S::kChunk + 4];
  alignas(16) float pointwise[S::kChunk][S::kGroup];
  alignas(16) float depthwise[10][S::kGroup];  // the biases last, as in the tables
  alignas(16) float picture_weights[28][S::kGroup];
  float picture[S::kPicturePixels][3];
};

/// Threads as rows of 2^shift, each with four channels.
struct TileRows {
  int row, rows, channel;
  __device__ TileRows(int threads, int shift)
      : row(static_cast<int>(threadIdx.x) >> shift),
        rows(threads >> shift),
        channel((static_cast<int>(threadIdx.x) & ((1 << shift) - 1)) * 4) {}
};

/// The shift of TileRows for so many channels.
__device__ inline int shift_of(int channels) {
  return channels > 4 ? 32 - __clz((channels + 3) / 4 - 1) : 0;
}

/// A block's part of a step.
template <int kTile>
struct TilePart {
  using S = TileShape<kTile>;
  const DeviceStep& step;
  int first;      ///< channel
  int left, top;  ///< of the tile's border

  /// Where a pixel of the tile lies in the tensor, and whether it does; else x and y are of another
  /// one that does.
  __device__ bool place(int pixel, int& x, int& y) const {
    const int tx = left + pixel % S::kSide, ty = top + pixel / S::kSide;
    x = min(max(tx, 0), step.columns - 1);
    y = min(max(ty, 0), step.rows - 1);
    return x == tx && y == ty;
  }
};

/// `pixels` of a thread as a constant, without which there are branches in the innermost loops.
template <int kMost, typename Use>
__device__ void with_pixels(int pixels, const Use& use) {
  if (pixels > 3 && kMost > 3) {
    use(std::integral_constant<int, kMost>());
  } else if (pixels == 3) {
    use(std::integral_constant<int, 3>());
  } else if (pixels == 2) {
    use(std::integral_constant<int, 2>());
  } else {
    use(std::integral_constant<int, 1>());
  }
}

__device__ inline void copy_later(float* to, const float* from) {
  __pipeline_memcpy_async(to, from, sizeof(float4));
}

__device__ inline void finish_copies() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
}

/// Rows `first_row` on of a table of weights, `channels` of them from `first` on.
template <int kThreads, int kColumns>
__device__ void copy_table(float (*to)[kColumns], const float* table, int padded, int first_row,
                           int count, int first, int channels) {
  const TileRows rows(kThreads, shift_of(channels));
  if (rows.channel >= channels) return;
  for (int r = rows.row; r < count; r += rows.rows)
    copy_later(&to[r][rows.channel],
               table + size(first_row + r) * size(padded) + size(first + rows.channel));
}

}  // namespace cuface::cuda
