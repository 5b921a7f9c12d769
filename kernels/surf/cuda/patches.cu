#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "kernels/surf/cuda/patches.h"
#include "kernels/surf/cuda/pixels.cuh"

namespace cuface::cuda::surf {
namespace {

constexpr int kWarps = kWarpsOfPart, kThreads = kWarps * kWarp;
/// Of a multiprocessor.
constexpr int kBlocksAtOnce = 8;
constexpr unsigned kMostBlocks = 1056;

template <bool kUpright>
struct Part {
  PixelShare shares[kMostPatch];
  alignas(kCopied) std::conditional_t<kUpright, UprightCopy, TurnedCopy> around[kWarps];
  /// Of each column of the patch, of each line, the sum of the pixels that become one. Columns of a
  /// line lie in different banks.
  float sums[kMostPatch][kMostLines + 1];
  /// Where turned lines begin, and how far apart their pixels are, in 2^-32; of each warp's lines
  /// whether this is not exact.
  ExactPlace begins[kMostLines], step;
  bool is_odd[kMostLines / kWarp];
};

/// Lines of a window and columns of its patch.
struct Area {
  int first, lines;
  int column, column_end;
};

/// For a whole warp: the sums of the lanes' lines. `pixels` begins with the area's first ones.
template <typename Part, typename Pixels>
__device__ inline void sum_lines(const Area& area, Part& part, Pixels& pixels) {
  constexpr int kOwn = Pixels::kOwn;
  int at = part.shares[area.column].first - 1;
  float values[kOwn] = {};
  for (int x = area.column; x < area.column_end; ++x) {
    const PixelShare share = part.shares[x];
    const float body = share.body * Pixels::kScale, tail = share.tail * Pixels::kScale;
    const int last = share.has_tail && share.count > 1 ? share.count - 1 : -1;
    float weight = share.weight(0) * Pixels::kScale;
    float sums[kOwn] = {};
    const auto add = [&](int i) {
      const float by = i == last ? tail : weight;
#pragma unroll
      for (int k = 0; k < kOwn; ++k) sums[k] += values[k] * by;
      weight = body;
    };
    int i = 0;
    // Two columns may share a pixel.
    if (share.first <= at) add(i++);
#pragma unroll 1
    while (i < share.count)
      i += pixels.take(share.count - i, values, [&](int further) { add(i + further); });
    at = share.first + share.count - 1;
#pragma unroll
    for (int k = 0; k < kOwn; ++k) {
      const int line = pixels.line(k);
      if (line >= 0 && line < area.lines) part.sums[x][line] = sums[k];
    }
  }
}

/// Where a turned line begins: in float, in order.
__device__ inline void begin_line(const Window& window, const PixelShare* shares, int pixels,
                                  int number, float& x, float& y) {
  const WindowOutline& outline = window.outline;
  const int row = min(number * pixels / outline.size, pixels - 1);
  x = window.x[row];
  y = window.y[row];
  for (int i = shares[row].first; i < number; ++i) {
    x += outline.sine;
    y += outline.cosine;
  }
}

/// For a whole block: where lines begin, from line `first` on. Behind the last one it stands again.
__device__ inline void begin_lines(const Window& window, const WindowOutline& outline, int pixels,
                                   int first, int lines, Part<false>& part) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp,
            lane = static_cast<int>(threadIdx.x) % kWarp;
  const bool is_odd = !is_exact(outline.cosine) || !is_exact(outline.sine) || outline.size > 32767;
  for (int from = warp * kWarp; from < lines; from += kThreads) {
    float x, y;
    begin_line(window, part.shares, pixels, first + min(from + lane, lines - 1), x, y);
    const bool any = __any_sync(kAllLanes, is_odd || !is_exact(x) || !is_exact(y));
    if (lane == 0) part.is_odd[from / kWarp] = any;
    if (any) continue;
    part.begins[from + lane] = {in_fractions(x), in_fractions(y)};
  }
  if (threadIdx.x > 0 || is_odd) return;
  part.step = {in_fractions(outline.cosine), -in_fractions(outline.sine)};
}

/// For a whole warp: the sums of its lines, from line `from` of the area on.
template <bool kUpright>
__device__ void sum_lines(const SummedPicture& picture, bool words, int pixels,
                          const Window& window, const WindowOutline& outline, const Area& area,
                          int from, Part<kUpright>& part) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const PixelShare last = part.shares[area.column_end - 1];
  const int begin = part.shares[area.column].first, count = last.first + last.count - begin;
  if constexpr (kUpright) {
    UprightPixels lines(picture, words, outline.left + area.first, outline.bottom - begin, count,
                        part.around[warp]);
    sum_lines(area, part, lines);
  } else {
    const int line = from + static_cast<int>(threadIdx.x) % kWarp;
    if (part.is_odd[from / kWarp]) {
      float x, y;
      begin_line(window, part.shares, pixels, area.first + min(line, area.lines - 1), x, y);
      AddedPixels lines(picture, line, x, y, outline, begin);
      sum_lines(area, part, lines);
    } else {
      ExactPixels lines(picture, words, line, part.begins[line], part.step, begin, count,
                        part.around[warp]);
      sum_lines(area, part, lines);
    }
  }
}

/// A block a part of a window.
template <bool kUpright>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    resize_kernel(const __grid_constant__ SummedPicture picture, bool words, int pixels,
                  const __grid_constant__ BlobWork work) {
  constexpr int kMost = kUpright ? kMostColumns : kMostLines, kLines = kUpright ? kMost : kWarp;
  __shared__ Part<kUpright> part;
  __shared__ std::uint32_t next;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp;
  const std::uint32_t large = work.part_counts[0], count = large + work.part_counts[1];
  for (;;) {
    if (thread == 0) next = atomicAdd(work.taken, 1u);
    __syncthreads();
    if (next >= count) return;
    const WindowPart which = work.parts[next < large ? next : work.part_room - 1 - (next - large)];
    const Window& window = work.windows[which.keypoint];
    const WindowOutline outline = window.outline;
    const WindowCut cut = window.cut;
    if (thread < pixels) part.shares[thread] = window.shares[thread];
    __syncthreads();
    const int side = outline.size % pixels == 0 ? outline.size / pixels : 0;
    const int row = static_cast<int>(which.row), row_end = min(row + cut.rows, pixels);
    const PixelShare last = part.shares[row_end - 1];
    const int begin = part.shares[row].first, end = last.first + last.count;
    const int groups = (pixels + cut.columns - 1) / cut.columns,
              own_groups = (groups - static_cast<int>(which.part) + cut.parts - 1) / cut.parts;
    // Then a warp has a row of the patch.
    const int x = thread % kWarp;
    const bool is_own = x < pixels && x / cut.columns % cut.parts == static_cast<int>(which.part);
    std::uint8_t* patch = work.patches + static_cast<std::size_t>(which.keypoint) * pixels * pixels;
    // Of a row with more lines than there is room for: it is alone then.
    std::int32_t whole_before = 0;
    float before = 0;
    for (int first = begin; first < end; first += kMost) {
      const int lines = min(kMost, end - first), chunks = (lines + kLines - 1) / kLines;
      if constexpr (!kUpright) {
        begin_lines(window, outline, pixels, first, lines, part);
        __syncthreads();
      }
      for (int i = warp; i < chunks * own_groups; i += kWarps) {
        const int column = (static_cast<int>(which.part) + i / chunks * cut.parts) * cut.columns;
        sum_lines<kUpright>(picture, words, pixels, window, outline,
                            {first, lines, column, min(column + cut.columns, pixels)},
                            i % chunks * kLines, part);
      }
      __syncthreads();
      for (int y = row + warp; is_own && y < row_end; y += kWarps) {
        const PixelShare share = part.shares[y];
        const int line_end = min(share.first + share.count, first + lines);
        std::int32_t whole = whole_before;
        float sum = before;
        for (int line = max(share.first, first); line < line_end; ++line) {
          const float of_line = part.sums[x][line - first];
          if (side > 0) whole += static_cast<std::int32_t>(of_line);
          sum += share.weight(line - share.first) * of_line;
        }
        if (first + lines < end) {
          whole_before = whole;
          before = sum;
        } else {
          patch[y * pixels + x] =
              side > 0 ? cuface::surf::mean_of(whole, side) : cuface::surf::byte_of(sum);
        }
      }
      __syncthreads();
    }
  }
}

}  // namespace

Status resize_windows(const SummedPicture& picture, int pixels, bool upright, int most,
                      const BlobWork& work, Launcher launch) {
  const auto blocks = std::clamp(static_cast<unsigned>(most) * kPartsOfBand, 1u, kMostBlocks);
  const std::uintptr_t at_once = upright ? kQuad : kCopied;
  const bool words = reinterpret_cast<std::uintptr_t>(picture.grey.data) % at_once == 0 &&
                     static_cast<std::uintptr_t>(picture.grey.stride) % at_once == 0;
  return launch("resizing windows", upright ? resize_kernel<true> : resize_kernel<false>,
                {blocks, kThreads}, picture, words, pixels, work);
}

}  // namespace cuface::cuda::surf
