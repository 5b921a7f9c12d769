#include <cstddef>
#include <utility>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/fast/cuda/corners.h"
#include "kernels/fast/rules.h"

namespace cuface::cuda::fast {
namespace {

using cuface::fast::kArc;
using cuface::fast::kCircle;
using cuface::fast::kRing;

constexpr int kThreads = 256;
static_assert(kThreads == kScores, "a thread a score");
constexpr int kQuad = 4;  // bytes that are read at once

// Scores are those of the tile and a pixel around it.
constexpr int kAroundWidth = kTileWidth + 2, kAroundHeight = kTileHeight + 2;
constexpr int kScoreStride = kAroundWidth + 2;
constexpr int kMargin = cuface::fast::kRadius + 1;
static_assert(kMargin == kQuad, "columns beside a tile are whole words");
constexpr int kGreyWidth = kTileWidth + 2 * kMargin, kGreyHeight = kTileHeight + 2 * kMargin;
constexpr int kMostHere = kTileWidth / 2 * (kTileHeight / 2);

/// From a pixel to one of its circle, in the tile's grey.
template <std::size_t I>
inline constexpr int kAt = kRing[I].y* kGreyWidth + kRing[I].x;

struct Tile {
  alignas(4) std::uint8_t grey[kGreyHeight * kGreyWidth];
  alignas(4) std::uint8_t scores[kAroundHeight * kScoreStride];
  std::uint16_t candidates[kAroundHeight * kAroundWidth];
  std::uint32_t corners[kMostHere];
  std::uint32_t of_scores[kScores];
  std::uint32_t candidate_count, corner_count, first;
};

__device__ void load(ImageView<const std::uint8_t> grey, int tile_x, int tile_y, bool words,
                     std::uint8_t* to) {
  constexpr int kQuads = kGreyWidth / kQuad;
  for (int i = static_cast<int>(threadIdx.x); i < kQuads * kGreyHeight; i += kThreads) {
    const int x = tile_x - kMargin + i % kQuads * kQuad;
    const int y = min(max(tile_y - kMargin + i / kQuads, 0), grey.height - 1);
    const std::uint8_t* from = grey.row(y);
    std::uint32_t quad = 0;
    if (words && x >= 0 && x + kQuad <= grey.width) {
      quad = *reinterpret_cast<const std::uint32_t*>(from + x);
    } else {
      for (int k = 0; k < kQuad; ++k)
        quad |= static_cast<std::uint32_t>(from[min(max(x + k, 0), grey.width - 1)]) << (8 * k);
    }
    *reinterpret_cast<std::uint32_t*>(to + i * kQuad) = quad;
  }
}

/// Neither side can have an arc: of any four pixels of the circle that lie a quarter apart it has
/// two neighbours.
__device__ inline bool can_be_corner(const std::uint8_t* at, int threshold) {
  const int low = *at - threshold, high = *at + threshold;
  const auto passes = [&](int a, int b, int c, int d) {
    return min(max(a, c), max(b, d)) > high || max(min(a, c), min(b, d)) < low;
  };
  return passes(at[kAt<0>], at[kAt<4>], at[kAt<8>], at[kAt<12>]) &&
         passes(at[kAt<2>], at[kAt<6>], at[kAt<10>], at[kAt<14>]);
}

/// Of each arc the pixel that differs least, and of these the best: as the vectors of the CPU do,
/// two arcs that share eight pixels at once.
__device__ inline int best_of_smallest(const int (&p)[kCircle]) {
  int pairs[kCircle / 2], fours[kCircle / 2], best = 0;
#pragma unroll
  for (int i = 0; i < kCircle / 2; ++i) pairs[i] = min(p[2 * i + 1], p[(2 * i + 2) % kCircle]);
#pragma unroll
  for (int i = 0; i < kCircle / 2; ++i) fours[i] = min(pairs[i], pairs[(i + 1) % 8]);
#pragma unroll
  for (int i = 0; i < kCircle / 2; ++i) {
    const int ends = max(p[2 * i], p[(2 * i + kArc) % kCircle]);
    best = max(best, min(min(fours[i], fours[(i + 2) % 8]), ends));
  }
  return best;
}

template <std::size_t... I>
__device__ inline int score_at(const std::uint8_t* at, int threshold, std::index_sequence<I...>) {
  const int brighter[kCircle] = {(at[kAt<I>] - *at)...};
  const int darker[kCircle] = {(*at - at[kAt<I>])...};
  const int best = max(best_of_smallest(brighter), best_of_smallest(darker));
  return best > threshold ? best - 1 : 0;
}

/// A block a tile: pixels that may be corners are collected, so that few threads of a warp score
/// in vain.
__global__ void __launch_bounds__(kThreads)
    corners_kernel(const __grid_constant__ Pictures pictures, int threshold, bool words,
                   const __grid_constant__ Corners out) {
  __shared__ Tile tile;
  const int which = part_of<&Picture::first_tile>(pictures.all, pictures.count, blockIdx.x);
  const Picture& picture = pictures.all[which];
  const int number = static_cast<int>(blockIdx.x - picture.first_tile);
  const Rect& part = picture.part;
  const int tile_x = part.x / kQuad * kQuad + number % picture.tiles_across * kTileWidth;
  const int tile_y = part.y + number / picture.tiles_across * kTileHeight;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) tile.candidate_count = tile.corner_count = 0;
  tile.of_scores[thread] = 0;
  load(picture.grey, tile_x, tile_y, words, tile.grey);
  for (int i = thread; i < kAroundHeight * kScoreStride / kQuad; i += kThreads)
    reinterpret_cast<std::uint32_t*>(tile.scores)[i] = 0;
  __syncthreads();
  // The pixel at (x, y) of those around the tile.
  const auto grey_at = [&](int x, int y) {
    return tile.grey + (y + kMargin - 1) * kGreyWidth + x + kMargin - 1;
  };
  for (int i = thread; i < kAroundHeight * kAroundWidth; i += kThreads) {
    const int x = i % kAroundWidth, y = i / kAroundWidth;
    const int u = tile_x - 1 + x - part.x, v = tile_y - 1 + y - part.y;
    if (u < -1 || u > part.w || v < -1 || v > part.h) continue;
    if (can_be_corner(grey_at(x, y), threshold))
      tile.candidates[atomicAdd(&tile.candidate_count, 1)] = static_cast<std::uint16_t>(i);
  }
  __syncthreads();
  for (int i = thread; i < static_cast<int>(tile.candidate_count); i += kThreads) {
    const int x = tile.candidates[i] % kAroundWidth, y = tile.candidates[i] / kAroundWidth;
    tile.scores[y * kScoreStride + x] = static_cast<std::uint8_t>(
        score_at(grey_at(x, y), threshold, std::make_index_sequence<kCircle>()));
  }
  __syncthreads();
  for (int i = thread; i < static_cast<int>(tile.candidate_count); i += kThreads) {
    const int x = tile.candidates[i] % kAroundWidth, y = tile.candidates[i] / kAroundWidth;
    const int u = tile_x - 1 + x - part.x, v = tile_y - 1 + y - part.y;
    if (x < 1 || x > kTileWidth || y < 1 || y > kTileHeight) continue;
    if (u < 0 || u >= part.w || v < 0 || v >= part.h) continue;
    const std::uint8_t* at = tile.scores + y * kScoreStride + x;
    const int score = *at;
    int around = max(at[-1], at[1]);
    for (int k = -1; k <= 1; ++k)
      around = max(around, max(int{at[k - kScoreStride]}, int{at[k + kScoreStride]}));
    if (score <= around) continue;
    tile.corners[atomicAdd(&tile.corner_count, 1)] = static_cast<std::uint32_t>(x - 1) |
                                                     static_cast<std::uint32_t>(y - 1) << 8 |
                                                     static_cast<std::uint32_t>(score) << 16;
    atomicAdd(&tile.of_scores[score], 1);
  }
  __syncthreads();
  const std::uint32_t count = tile.corner_count;
  if (count == 0) return;
  if (thread == 0) tile.first = picture.first + atomicAdd(out.counts + which, count);
  if (tile.of_scores[thread] > 0)
    atomicAdd(out.of_scores + which * kScores + thread, tile.of_scores[thread]);
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) {
    const std::uint32_t corner = tile.corners[i];
    out.places[tile.first + i] = packed_place(tile_x + static_cast<int>(corner & 0xff),
                                              tile_y + static_cast<int>(corner >> 8 & 0xff));
    out.scores[tile.first + i] = static_cast<std::uint8_t>(corner >> 16);
  }
}

}  // namespace

bool add_picture(Pictures& to, ImageView<const std::uint8_t> grey, Rect part, std::uint32_t first) {
  if (to.count == kMostPictures) return false;
  const auto parts = [](int n, int of) { return (n + of - 1) / of; };
  const int across = parts(part.x % kQuad + part.w, kTileWidth), down = parts(part.h, kTileHeight);
  to.all[to.count++] = {grey, part, to.tiles, across, first};
  to.tiles += static_cast<std::uint32_t>(across) * static_cast<std::uint32_t>(down);
  return true;
}

Status find_corners(const Pictures& pictures, int threshold, const Corners& out, Launcher launch) {
  bool words = true;
  for (int i = 0; i < pictures.count; ++i) {
    const ImageView<const std::uint8_t>& grey = pictures.all[i].grey;
    words = words && reinterpret_cast<std::uintptr_t>(grey.data) % kQuad == 0 &&
            grey.stride % kQuad == 0;
  }
  return launch("corners", corners_kernel, {pictures.tiles, kThreads}, pictures, threshold, words,
                out);
}

}  // namespace cuface::cuda::fast
