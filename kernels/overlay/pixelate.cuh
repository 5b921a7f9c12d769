// The cells of pixelated faces, for a block; the kernel is in overlay_cuda.cu.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/ranks.cuh"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/overlay/raster.h"

namespace cuface::cuda {

/// The pixels that the cells of a face cover, to whole cells: a multiple of 4 on every side.
struct Cells {
  raster::Span2 begin;  ///< as raster::cells_of
  int block;
  __device__ bool meets(const Cells& other) const {
    return !raster::intersect(whole(), other.whole()).empty();
  }
  __device__ raster::Span2 whole() const {
    if (begin.empty()) return {0, 0, 0, 0};
    return {begin.x0, begin.y0, begin.x0 + columns() * block, begin.y0 + rows() * block};
  }
  __device__ int columns() const {
    return begin.empty() ? 0 : (begin.x1 - begin.x0 + block - 1) / block;
  }
  __device__ int rows() const {
    return begin.empty() ? 0 : (begin.y1 - begin.y0 + block - 1) / block;
  }
};

/// One cell of one component by one warp: raster::pixelate()'s.
__device__ inline void pixelate_cell(const Component& c, const raster::Span2& pixels, int lane) {
  const raster::Span2 area = raster::samples_of(c, pixels);
  const int width = area.x1 - area.x0, n = width * (area.y1 - area.y0);
  std::int64_t sum = 0;
  for (int i = lane; i < n; i += kWarp)
    sum += raster::load(c, raster::sample(c, area.x0 + i % width, area.y0 + i / width));
  const int mean = raster::mean_of(sum_of_warp(sum), n);
  for (int i = lane; i < n; i += kWarp)
    raster::store(c, raster::sample(c, area.x0 + i % width, area.y0 + i / width), mean);
}

}  // namespace cuface::cuda
