#include "kernels/common/bits.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/edges/cuda/full.h"

namespace cuface::cuda::edges {
namespace {

constexpr int kThreads = 256;
constexpr int kWide = 64, kHigh = 16;  // pixels of a block
constexpr int kMostAround = kMostBlur - 1;
constexpr int kBlockX = 64, kBlockY = 4;

/// The sums along rows that a block needs, then those along its columns. `margin` pixels around the
/// picture belong to the result, and what lies outside of the picture is 0.
__global__ void __launch_bounds__(kThreads)
    full_kernel(ImageView<const std::uint8_t> src, const Blur blur, int margin,
                ImageView<std::uint8_t> dst) {
  __shared__ std::uint16_t across[kHigh + kMostAround][kWide];
  const int left = static_cast<int>(blockIdx.x) * kWide, top = static_cast<int>(blockIdx.y) * kHigh;
  const int half = blur.size / 2;
  for (int i = static_cast<int>(threadIdx.x); i < (kHigh + 2 * half) * kWide; i += kThreads) {
    const int row = i / kWide, column = i % kWide;
    const int x = left + column - margin - half, y = top + row - margin - half;
    std::int32_t sum = 0;
    if (y >= 0 && y < src.height) {
      const std::uint8_t* from = src.row(y);
      for (int k = 0; k < blur.size; ++k)
        if (x + k >= 0 && x + k < src.width) sum += from[x + k] * blur.weights[k];
    }
    across[row][column] = static_cast<std::uint16_t>(sum);
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kHigh * kWide; i += kThreads) {
    const int row = i / kWide, column = i % kWide;
    if (left + column >= dst.width || top + row >= dst.height) continue;
    std::int32_t sum = 0;
    for (int k = 0; k < blur.size; ++k) sum += across[row + k][column] * blur.weights[k];
    dst.at(left + column, top + row) = static_cast<std::uint8_t>(sum >> (2 * kBlurBits));
  }
}

/// A thread a pixel, half a word of bits a warp.
__global__ void __launch_bounds__(kBlockX* kBlockY)
    cut_kernel(const EdgeViews from, int margin, const EdgeViews out, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * kBlockX + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * kBlockY + threadIdx.y);
  if (y >= height) return;  // a row is one of whole warps
  const bool inside = x < width;
  std::uint8_t edge = 0;
  if (inside) {
    if (from.map.data) edge = from.map.at(x + margin, y + margin);
    if (out.map.data) out.map.at(x, y) = edge;
    if (out.magnitude.data) out.magnitude.at(x, y) = from.magnitude.at(x + margin, y + margin);
    if (out.angle.data) out.angle.at(x, y) = from.angle.at(x + margin, y + margin);
  }
  if (!out.bits.data) return;
  const std::uint32_t bits = __ballot_sync(kAllLanes, edge != 0);
  if (threadIdx.x % kWarp == 0 && x < out.bits.width * kWordBits)
    reinterpret_cast<std::uint32_t*>(out.bits.row(y))[x / kWarp] = bits;
}

unsigned parts(int n, int of) { return static_cast<unsigned>((n + of - 1) / of); }

}  // namespace

Status blur_full(ImageView<const std::uint8_t> src, const Blur& blur, int margin,
                 ImageView<std::uint8_t> dst, Launcher launch) {
  const dim3 grid(parts(dst.width, kWide), parts(dst.height, kHigh));
  return launch("blurring all of a picture", full_kernel, {grid, kThreads}, src, blur, margin, dst);
}

Status cut_middle(const EdgeViews& from, int margin, const EdgeViews& out, int width, int height,
                  Launcher launch) {
  const dim3 grid(parts(width, kBlockX), parts(height, kBlockY));
  return launch("cutting out the middle", cut_kernel, {grid, dim3(kBlockX, kBlockY)}, from, margin,
                out, width, height);
}

}  // namespace cuface::cuda::edges
