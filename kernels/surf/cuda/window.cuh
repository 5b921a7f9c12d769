// How a window is cut into parts that blocks resize, and what is prepared of it.
#pragma once

#include <climits>
#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/surf/cuda/layers.h"
#include "kernels/surf/window.h"

namespace cuface::cuda::surf {

using cuface::surf::kMostPatch;
using cuface::surf::PixelShare;
using cuface::surf::WindowOutline;

/// Lines of a window that a block has at a time, at most; pixels of a line that a warp makes at a
/// time.
inline constexpr int kMostLines = 128, kSpan = 32;
/// The same of an upright window, whose lines are columns of the picture: they begin at any byte of
/// a word.
inline constexpr int kMostColumns = kMostLines - 3;
/// A block's warps.
inline constexpr int kWarpsOfPart = 3;
/// Blocks that share a band of rows, where it has so many groups of columns.
inline constexpr int kPartsOfBand = 3, kManyGroups = 6;
/// A window that has so many parts is a large one.
inline constexpr int kManyParts = 3;

/// For a whole warp. Rows of a band share two lines with others, and a lane has a line: bands are
/// such that the fewest lanes are without one.
__device__ inline WindowCut cut_of(int size, int pixels, bool upright) {
  const auto shares = [](int all, int each) { return (all + each - 1) / each; };
  if (upright) {
    // All lines of a band are a warp's.
    const int rows = min(max((kMostColumns - 2) * pixels / size, 1), pixels),
              bands = shares(pixels, rows),
              parts = bands > 1 && bands * kPartsOfBand <= pixels ? kPartsOfBand : 1;
    return {shares(pixels, bands), shares(pixels, parts * kWarpsOfPart), parts};
  }
  const int most = min(max((kSpan - 2) * pixels / size, 1), pixels), groups = shares(pixels, most);
  const int rows = static_cast<int>(threadIdx.x) % kWarp + 1, lines = rows * size / pixels + 2;
  int cost = shares(pixels, rows) * shares(lines, kWarp);
  if (rows > pixels || (rows > 1 && lines > kMostLines)) cost = INT_MAX / kWarp;
  int best = cost * kWarp + kWarp - rows;  // of equal costs that of more rows
  for (int by = kWarp / 2; by > 0; by /= 2) best = min(best, __shfl_xor_sync(kAllLanes, best, by));
  const int bands = shares(pixels, kWarp - best % kWarp);
  // There is room for `pixels` parts.
  const bool share = groups >= kManyGroups && bands * kPartsOfBand <= pixels;
  return {shares(pixels, bands), shares(pixels, groups), share ? kPartsOfBand : 1};
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
  const WindowCut cut = cut_of(outline.size, pixels, upright);
  const int parts = (pixels + cut.rows - 1) / cut.rows * cut.parts;
  const bool is_large = parts >= kManyParts;
  std::uint32_t begin = 0;
  if (lane == 0) {
    window.outline = outline;
    window.cut = cut;
    begin = atomicAdd(work.part_counts + (is_large ? 0 : 1), static_cast<std::uint32_t>(parts));
  }
  begin = __shfl_sync(kAllLanes, begin, 0);
  const std::uint32_t slot = begin + static_cast<std::uint32_t>(lane);
  if (lane < parts)
    work.parts[is_large ? slot : work.part_room - 1 - slot] = {
        number, static_cast<std::uint32_t>(lane / cut.parts * cut.rows),
        static_cast<std::uint32_t>(lane % cut.parts)};
}

}  // namespace cuface::cuda::surf
