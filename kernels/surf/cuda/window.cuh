// How a window is cut into parts that blocks resize, and what is prepared of it.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/surf/cuda/layers.h"
#include "kernels/surf/window.h"

namespace cuface::cuda::surf {

using cuface::surf::kMostPatch;
using cuface::surf::PixelShare;
using cuface::surf::WindowOutline;

/// Lines of a window, and pixels of these, that a block has at a time.
inline constexpr int kPart = 48;

/// Rows of a patch whose lines are kPart at most; one, where it has more. They share two lines with
/// others.
__device__ inline int rows_of_part(int size, int pixels) {
  const int most = min(max((kPart - 2) * pixels / size, 1), pixels);
  const int parts = (pixels + most - 1) / most;
  return (pixels + parts - 1) / parts;
}

/// Of a whole number of pixels each counts as one.
__device__ inline PixelShare share_of(int size, int pixels, int to) {
  if (size % pixels > 0) return PixelShare::of(size, pixels, to);
  PixelShare out{};
  out.count = size / pixels;
  out.first = to * out.count;
  out.body = 1;
  return out;
}

/// For a whole warp: prepares a keypoint's window.
__device__ inline void add_window(const Keypoint& k, bool upright, int pixels, std::uint32_t number,
                                  const BlobWork& work) {
  if (pixels == 0) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const WindowOutline outline = WindowOutline::of(k, upright, pixels);
  Window& window = work.windows[number];
  int first = 0;
  if (lane < pixels) {
    const PixelShare share = share_of(outline.size, pixels, lane);
    window.shares[lane] = share;
    first = share.first;
  }
  // Two lanes add up where lines begin: in float, so in order.
  float at = lane == 0 ? outline.x0 : outline.y0;
  const float step = lane == 0 ? outline.sine : outline.cosine;
  for (int row = 0, line = 0; row < pixels && !upright; ++row) {
    for (const int end = __shfl_sync(kAllLanes, first, row); line < end; ++line) at += step;
    if (lane < 2) (lane == 0 ? window.x : window.y)[row] = at;
  }
  const int each = rows_of_part(outline.size, pixels), parts = (pixels + each - 1) / each;
  std::uint32_t begin = 0;
  if (lane == 0) {
    window.outline = outline;
    begin = atomicAdd(work.row_count, static_cast<std::uint32_t>(parts));
  }
  begin = __shfl_sync(kAllLanes, begin, 0);
  if (lane < parts)
    work.rows[begin + static_cast<std::uint32_t>(lane)] = {number,
                                                           static_cast<std::uint32_t>(lane * each)};
}

}  // namespace cuface::cuda::surf
