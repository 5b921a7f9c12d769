// A window of any size, for a block's threads.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/flow/cuda/window.cuh"

namespace cuface::cuda {

/// What follow() asks of the pixels: a block's threads share those of the window.
class BlockPatch {
 public:
  static constexpr int kThreads = 128;
  static constexpr int kWarps = kThreads / kWarp;
  static_assert((63 * 63 + kThreads - 1) / kThreads <= kMostPixels);

  /// Of the shared memory.
  __host__ __device__ static constexpr int bytes(int window) {
    return 3 * 2 * window * window + Surroundings::bytes(window);
  }

  __device__ BlockPatch(int window, std::uint8_t* memory, BlockSum<kWarps>::Parts& parts)
      : window_(window),
        value_(reinterpret_cast<std::int16_t*>(memory)),
        dx_(value_ + window * window),
        dy_(dx_ + window * window),
        around_(window, memory + 3 * 2 * window * window),
        sum_(parts) {}

  __device__ GradientSums take(const Picture& picture, const Sample& s) {
    around_.take<kThreads>(picture, s, [] { __syncthreads(); });
    __syncthreads();
    int of_thread[3] = {0, 0, 0};
    // Each thread reads back in compare() just the pixels it writes here.
    for (WindowWalk<kThreads> w(window_); w.more(); w.next()) {
      const auto texel = around_.texel(w.x, w.y, s);
      const int i = w.index();
      value_[i] = texel.value;
      dx_[i] = texel.dx;
      dy_[i] = texel.dy;
      of_thread[0] += texel.dx * texel.dx;
      of_thread[1] += texel.dx * texel.dy;
      of_thread[2] += texel.dy * texel.dy;
    }
    std::int64_t sum[3];
    sum_.add_up(of_thread, sum);
    return {sum[0], sum[1], sum[2]};
  }

  __device__ MismatchSums compare(const Picture& picture, const Sample& s) {
    const bool inside = s.x >= 0 && s.y >= 0 && s.x + window_ + 1 <= picture.width &&
                        s.y + window_ + 1 <= picture.height;
    int of_thread[2] = {0, 0};
    for (WindowWalk<kThreads> w(window_); w.more(); w.next()) {
      const int i = w.index();
      const int difference = sample_pixel(picture, s, w.x, w.y, inside) - value_[i];
      of_thread[0] += difference * dx_[i];
      of_thread[1] += difference * dy_[i];
    }
    std::int64_t sum[2];
    sum_.add_up(of_thread, sum);
    return {sum[0], sum[1]};
  }

 private:
  int window_;
  std::int16_t *value_, *dx_, *dy_;
  Surroundings around_;
  BlockSum<kWarps> sum_;
};

}  // namespace cuface::cuda
