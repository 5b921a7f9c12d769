// What the ways to read a window on the GPU share: gathering its pixels with what lies outside of
// the picture, and sums that are exact whatever their order.
#pragma once

#include <cstdint>

#include "kernels/common/border.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/flow/follow.h"

namespace cuface::cuda {

using flow_steps::GradientSums;
using flow_steps::kPatchBits;
using flow_steps::kWeightBits;
using flow_steps::MismatchSums;
using flow_steps::Picture;
using flow_steps::Sample;

/// A thread's pixels of a side x side square, in turn: thread, thread + kThreads, ...
template <int kThreads>
struct WindowWalk {
  int x, y, step_x, step_y, side;

  __device__ explicit WindowWalk(int n)
      : x(static_cast<int>(threadIdx.x) % n),
        y(static_cast<int>(threadIdx.x) / n),
        step_x(kThreads % n),
        step_y(kThreads / n),
        side(n) {}
  __device__ bool more() const { return y < side; }
  __device__ void next() {
    x += step_x;
    y += step_y;
    if (x >= side) {
      x -= side;
      ++y;
    }
  }
  __device__ int index() const { return y * side + x; }
};

/// The pixels around a window and their derivatives, in shared memory.
struct Surroundings {
  std::int16_t *slope_x, *slope_y;  // (window + 1)^2 each, which are 0 outside of the picture
  std::uint8_t* pixels;             // (window + 3)^2, reflected
  int window;

  __host__ __device__ static constexpr int bytes(int window) {
    return 4 * (window + 1) * (window + 1) + (window + 3) * (window + 3);
  }
  __device__ Surroundings(int side, std::uint8_t* memory)
      : slope_x(reinterpret_cast<std::int16_t*>(memory)),
        slope_y(slope_x + (side + 1) * (side + 1)),
        pixels(reinterpret_cast<std::uint8_t*>(slope_y + (side + 1) * (side + 1))),
        window(side) {}

  /// By kThreads threads, which all see them behind another sync().
  template <int kThreads, typename Sync>
  __device__ void take(const Picture& picture, const Sample& s, const Sync& sync) const {
    const int gathered = window + 3;
    for (WindowWalk<kThreads> w(gathered); w.more(); w.next()) {
      pixels[w.index()] = picture.at(reflect_101(s.x - 1 + w.x, picture.width),
                                     reflect_101(s.y - 1 + w.y, picture.height));
    }
    sync();
    for (WindowWalk<kThreads> w(window + 1); w.more(); w.next()) {
      const int px = s.x + w.x, py = s.y + w.y;
      const bool inside = px >= 0 && px < picture.width && py >= 0 && py < picture.height;
      const std::uint8_t* p = pixels + (w.y + 1) * gathered + w.x + 1;
      slope_x[w.index()] = inside ? flow_steps::scharr_x(p, gathered) : std::int16_t{0};
      slope_y[w.index()] = inside ? flow_steps::scharr_y(p, gathered) : std::int16_t{0};
    }
  }

  struct Texel {
    std::int16_t value, dx, dy;
  };
  __device__ Texel texel(int x, int y, const Sample& s) const {
    const std::uint8_t* p = pixels + (y + 1) * (window + 3) + x + 1;
    const std::uint8_t* below = p + window + 3;
    const int k = y * (window + 1) + x, down = k + window + 1;
    return {flow_steps::interpolate<kWeightBits - kPatchBits>(p[0], p[1], below[0], below[1], s),
            flow_steps::interpolate<kWeightBits>(slope_x[k], slope_x[k + 1], slope_x[down],
                                                 slope_x[down + 1], s),
            flow_steps::interpolate<kWeightBits>(slope_y[k], slope_y[k + 1], slope_y[down],
                                                 slope_y[down + 1], s)};
  }
};

/// A pixel (x, y) of the window at `s`; `inside`: no pixel of it is outside of the picture.
__device__ inline int sample_pixel(const Picture& picture, const Sample& s, int x, int y,
                                   bool inside) {
  x += s.x;
  y += s.y;
  int right = x + 1, down = y + 1;
  if (!inside) {
    x = reflect_101(x, picture.width);
    y = reflect_101(y, picture.height);
    right = reflect_101(right, picture.width);
    down = reflect_101(down, picture.height);
  }
  const std::uint8_t *row = picture.row(y), *below = picture.row(down);
  return flow_steps::interpolate<kWeightBits - kPatchBits>(row[x], row[right], below[x],
                                                           below[right], s);
}

/// What a thread may add up in 32 bits: a difference of values is at most 255 << kPatchBits, a
/// derivative 16 * 255.
inline constexpr int kMostPixels = 64;
static_assert(std::int64_t{kMostPixels} * (255 << kPatchBits) * (16 * 255) <
              (std::int64_t{1} << 31));

/// The sum over the lanes of a warp, for all of them.
__device__ inline std::int64_t warp_sum(int sum) {
#if __CUDA_ARCH__ >= 800
  // Its two halves, each of which fits 32 bits times 32.
  const int high = __reduce_add_sync(kAllLanes, sum >> 16);
  const unsigned low = __reduce_add_sync(kAllLanes, static_cast<unsigned>(sum) & 0xffffu);
  return (static_cast<std::int64_t>(high) << 16) + low;
#else
  std::int64_t all = sum;
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    all += __shfl_xor_sync(kAllLanes, all, offset);
  return all;
#endif
}

/// Sums over the kWarps warps of a block, for all its threads. Two sets of partial sums in turn, so
/// that no thread writes one that another still reads.
template <int kWarps>
class BlockSum {
 public:
  using Parts = std::int64_t[2][kWarps][3];

  __device__ explicit BlockSum(Parts& parts) : parts_(parts) {}

  template <int n>
  __device__ void add_up(const int (&of_thread)[n], std::int64_t (&sum)[n]) {
    for (int k = 0; k < n; ++k) sum[k] = warp_sum(of_thread[k]);
    if constexpr (kWarps > 1) {
      auto& part = parts_[parity_];
      parity_ ^= 1;
      if (threadIdx.x % kWarp == 0)
        for (int k = 0; k < n; ++k) part[threadIdx.x / kWarp][k] = sum[k];
      __syncthreads();
      for (int k = 0; k < n; ++k) {
        sum[k] = 0;
        for (int w = 0; w < kWarps; ++w) sum[k] += part[w][k];
      }
    }
  }

 private:
  int parity_ = 0;
  Parts& parts_;
};

}  // namespace cuface::cuda
