#include <algorithm>
#include <cstddef>

#include "kernels/surf/cuda/patches.h"
#include "kernels/surf/cuda/window.cuh"

namespace cuface::cuda::surf {
namespace {

using cuface::surf::pixel_at;
using cuface::surf::pixel_between;

constexpr int kThreads = 128;
constexpr unsigned kMostBlocks = 2112;
/// Blocks that share the rows of a patch: each has every third part of their columns.
constexpr int kBlocksOfRows = 3;
/// Pixels of a part of a patch that a thread has.
constexpr int kEach = (kMostPatch * kMostPatch + kThreads - 1) / kThreads;

/// The picture around a part, which may lie at any angle.
constexpr int kQuad = 4;  // bytes that are read at once
constexpr int kAroundRows = kPart * 3 / 2, kAroundWidth = kAroundRows + kQuad;
static_assert(kAroundWidth % kQuad == 0 && kAroundWidth / kQuad % 2 == 1,
              "columns of pixels lie in different banks");

/// Multiples of 2^-32 that are this small: their sums in double are exact, in any order.
constexpr double kFraction = 4294967296.0;
__device__ inline bool is_exact(float v) {
  const double scaled = static_cast<double>(v) * kFraction;
  return fabsf(v) < 32768 && scaled == floor(scaled);
}
__device__ inline long long in_fractions(float v) {
  return static_cast<long long>(static_cast<double>(v) * kFraction);
}

struct Part {
  PixelShare shares[kMostPatch];
  float x[kPart], y[kPart];                  ///< where lines begin
  float next_x, next_y;                      ///< and the one behind them
  long long whole_x[kPart], whole_y[kPart];  ///< x and y in 2^-32, where they are exact so
  alignas(kQuad) std::uint8_t around[kAroundRows][kAroundWidth];
  std::uint8_t pixels[kPart][kPart];  ///< of the lines: [pixel][line]
  /// Of each line the sums of what becomes a pixel: floats, or whole numbers.
  std::uint32_t sums[kMostPatch][kPart];
};

/// Where a part's pixels are in the picture.
struct Bounds {
  int left, top, right, bottom;

  /// Of a line's pixels `first` to `last`, of the part's lines 0 to `end`.
  __device__ static Bounds of(const Part& part, const WindowOutline& outline, int end, int first,
                              int last) {
    const auto bounds = [&](const float* lines, float step, int& least, int& most) {
      const double by = static_cast<double>(step), a = static_cast<double>(lines[0]),
                   b = static_cast<double>(lines[end]);
      const double low = fmin(a, b) + fmin(first * by, last * by),
                   high = fmax(a, b) + fmax(first * by, last * by);
      least = static_cast<int>(floor(low));
      most = static_cast<int>(floor(high)) + 1;
    };
    Bounds out;
    bounds(part.x, outline.cosine, out.left, out.right);
    bounds(part.y, -outline.sine, out.top, out.bottom);
    return out;
  }
  __device__ bool is_inside(const ImageView<const std::uint8_t>& grey) const {
    return left >= 0 && top >= 0 && right < grey.width && bottom < grey.height;
  }
};

/// For all threads: the picture around, whose first column is `left`, a multiple of kQuad.
__device__ inline void load_around(const ImageView<const std::uint8_t>& grey, bool words, int left,
                                   const Bounds& bounds, Part& part) {
  const int quads = (bounds.right - left) / kQuad + 1, rows = bounds.bottom - bounds.top + 1;
  for (int i = static_cast<int>(threadIdx.x); i < quads * rows; i += kThreads) {
    const int row = i / quads, x = left + i % quads * kQuad;
    const std::uint8_t* from = grey.row(bounds.top + row);
    std::uint32_t quad = 0;
    if (words && x + kQuad <= grey.width) {
      quad = *reinterpret_cast<const std::uint32_t*>(from + x);
    } else {
      for (int k = 0; k < kQuad; ++k)
        quad |= static_cast<std::uint32_t>(from[min(x + k, grey.width - 1)]) << (8 * k);
    }
    *reinterpret_cast<std::uint32_t*>(&part.around[row][x - left]) = quad;
  }
}

/// Pixels of some lines of a window, and where they are.
struct Pixels {
  int first, lines;  ///< the first line in the window, and how many
  int from, count;   ///< pixels of each
};

/// For all threads: calls work(line, pixel) for each of them. Lines lie beside each other.
template <typename Visit>
__device__ inline void for_each(const Pixels& pixels, const Visit& work) {
  const int rest = kThreads % pixels.lines, whole = kThreads / pixels.lines;
  int line = static_cast<int>(threadIdx.x) % pixels.lines,
      pixel = static_cast<int>(threadIdx.x) / pixels.lines;
  while (pixel < pixels.count) {
    work(line, pixel);
    line += rest;
    pixel += whole;
    if (line < pixels.lines) continue;
    line -= pixels.lines;
    ++pixel;
  }
}

__device__ void fill_upright(const ImageView<const std::uint8_t>& grey,
                             const WindowOutline& outline, const Pixels& pixels, Part& part) {
  for_each(pixels, [&](int line, int pixel) {
    const int column = min(max(outline.left + pixels.first + line, 0), grey.width - 1),
              row = min(max(outline.bottom - pixels.from - pixel, 0), grey.height - 1);
    part.pixels[pixel][line] = grey.row(row)[column];
  });
}

/// As WindowPlace::for_each_of_line(). Where sums are exact, of whole numbers and from a copy of
/// the picture; `words`: rows can be read in words.
__device__ void fill_turned(const ImageView<const std::uint8_t>& grey, bool words,
                            const WindowOutline& outline, bool all_exact, const Pixels& pixels,
                            Part& part) {
  const Bounds bounds =
      Bounds::of(part, outline, pixels.lines - 1, pixels.from, pixels.from + pixels.count - 1);
  const int left = bounds.left / kQuad * kQuad;
  if (all_exact && bounds.is_inside(grey) && bounds.right - left < kAroundWidth &&
      bounds.bottom - bounds.top < kAroundRows) {
    load_around(grey, words, left, bounds, part);
    __syncthreads();
    const long long step_x = in_fractions(outline.cosine), step_y = in_fractions(outline.sine);
    for_each(pixels, [&](int line, int pixel) {
      const int j = pixels.from + pixel;
      const long long x = part.whole_x[line] + j * step_x, y = part.whole_y[line] - j * step_y;
      const auto fraction = [](long long v) {
        return static_cast<float>(static_cast<std::uint32_t>(v)) *
               static_cast<float>(1 / kFraction);
      };
      const std::uint8_t* above =
          &part.around[static_cast<int>(y >> 32) - bounds.top][static_cast<int>(x >> 32) - left];
      const std::uint8_t* below = above + kAroundWidth;
      part.pixels[pixel][line] = static_cast<std::uint8_t>(
          pixel_between(above[0], above[1], below[0], below[1], fraction(x), fraction(y)));
    });
    return;
  }
  const auto cosine = static_cast<double>(outline.cosine), sine = static_cast<double>(outline.sine);
  for_each(pixels, [&](int line, int pixel) {
    const int j = pixels.from + pixel;
    auto x = static_cast<double>(part.x[line]), y = static_cast<double>(part.y[line]);
    if (all_exact) {
      x += j * cosine;
      y -= j * sine;
    } else {
      for (int k = 0; k < j; ++k) {
        x += cosine;
        y -= sine;
      }
    }
    part.pixels[pixel][line] = pixel_at(grey, x, y);
  });
}

/// For all threads: whether sums of all places of these lines are exact.
__device__ bool are_exact(const WindowOutline& outline, int lines, Part& part) {
  const int thread = static_cast<int>(threadIdx.x);
  bool is_odd = !is_exact(outline.cosine) || !is_exact(outline.sine) || outline.size > 32767;
  if (thread < lines) {
    is_odd = is_odd || !is_exact(part.x[thread]) || !is_exact(part.y[thread]);
    part.whole_x[thread] = in_fractions(part.x[thread]);
    part.whole_y[thread] = in_fractions(part.y[thread]);
  }
  return __syncthreads_or(is_odd) == 0;
}

/// For all threads: of lines from `first` on the sums of columns [column, column_end) of the patch.
__device__ void sum_lines(const SummedPicture& picture, bool words, const WindowOutline& outline,
                          int first, int lines, int column, int column_end, bool is_whole,
                          Part& part) {
  const PixelShare last = part.shares[column_end - 1];
  const int begin = part.shares[column].first, end = last.first + last.count;
  const bool all_exact = !outline.upright && are_exact(outline, lines, part);
  for (int from = begin; from < end; from += kPart) {
    const Pixels pixels{first, lines, from, min(kPart, end - from)};
    if (outline.upright) {
      fill_upright(picture.grey, outline, pixels, part);
    } else {
      fill_turned(picture.grey, words, outline, all_exact, pixels, part);
    }
    __syncthreads();
    for_each({first, lines, column, column_end - column}, [&](int line, int x) {
      const PixelShare share = part.shares[column + x];
      std::uint32_t& at = part.sums[x][line];
      const int pixel_end = min(share.first + share.count, from + pixels.count);
      int pixel = max(share.first, from);
      if (is_whole) {
        std::uint32_t sum = from == begin ? 0 : at;
        for (; pixel < pixel_end; ++pixel) sum += part.pixels[pixel - from][line];
        at = sum;
      } else {
        float sum = from == begin ? 0 : __uint_as_float(at);
        for (; pixel < pixel_end; ++pixel)
          sum += static_cast<float>(part.pixels[pixel - from][line]) *
                 share.weight(pixel - share.first);
        at = __float_as_uint(sum);
      }
    });
    __syncthreads();
  }
}

/// A block some rows of a patch, and some parts of their columns.
__global__ void __launch_bounds__(kThreads)
    resize_kernel(const __grid_constant__ SummedPicture picture, bool words, int pixels,
                  const __grid_constant__ BlobWork work) {
  __shared__ Part part;
  const int thread = static_cast<int>(threadIdx.x);
  const std::uint32_t count = *work.row_count;
  for (std::uint32_t number = blockIdx.x; number < count; number += gridDim.x) {
    const WindowRows rows = work.rows[number];
    const Window& window = work.windows[rows.keypoint];
    const WindowOutline outline = window.outline;
    const int size = outline.size, side = size % pixels == 0 ? size / pixels : 0;
    const int each = rows_of_part(size, pixels);
    const int row = static_cast<int>(rows.first), row_end = min(row + each, pixels);
    const int step = static_cast<int>(gridDim.y) * each;
    if (static_cast<int>(blockIdx.y) * each >= pixels) continue;
    if (thread < pixels) part.shares[thread] = window.shares[thread];
    __syncthreads();
    const PixelShare last = part.shares[row_end - 1];
    const int begin = part.shares[row].first, end = last.first + last.count;
    std::uint8_t* patch = work.patches + static_cast<std::size_t>(rows.keypoint) * pixels * pixels;
    for (int column = static_cast<int>(blockIdx.y) * each; column < pixels; column += step) {
      const int column_end = min(column + each, pixels), columns = column_end - column;
      const int all = (row_end - row) * columns;
      std::int32_t whole[kEach];
      float sum[kEach];
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        whole[e] = 0;
        sum[e] = 0;
      }
      for (int first = begin; first < end; first += kPart) {
        const int lines = min(kPart, end - first);
        if (thread < 2 && !outline.upright) {
          float& next = thread == 0 ? part.next_x : part.next_y;
          float at = first > begin ? next : (thread == 0 ? window.x : window.y)[row];
          const float by = thread == 0 ? outline.sine : outline.cosine;
          for (int i = 0; i < lines; ++i, at += by) (thread == 0 ? part.x : part.y)[i] = at;
          next = at;
        }
        __syncthreads();
        sum_lines(picture, words, outline, first, lines, column, column_end, side > 0, part);
#pragma unroll
        for (int e = 0; e < kEach; ++e) {
          const int pixel = thread + e * kThreads;
          if (pixel >= all) break;
          const int x = pixel % columns;
          const PixelShare& share = part.shares[row + pixel / columns];
          const int line_end = min(share.first + share.count, first + lines);
          for (int line = max(share.first, first); line < line_end; ++line) {
            const std::uint32_t of_line = part.sums[x][line - first];
            if (side > 0) {
              whole[e] += static_cast<std::int32_t>(of_line);
            } else {
              sum[e] += share.weight(line - share.first) * __uint_as_float(of_line);
            }
          }
        }
        __syncthreads();
      }
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        const int pixel = thread + e * kThreads;
        if (pixel >= all) break;
        patch[(row + pixel / columns) * pixels + column + pixel % columns] =
            side > 0 ? cuface::surf::mean_of(whole[e], side) : cuface::surf::byte_of(sum[e]);
      }
    }
  }
}

}  // namespace

Status resize_windows(const SummedPicture& picture, int pixels, std::size_t expected,
                      const BlobWork& work, Launcher launch) {
  const auto blocks = static_cast<unsigned>(std::clamp<std::size_t>(expected, 1, kMostBlocks));
  const bool words = reinterpret_cast<std::uintptr_t>(picture.grey.data) % kQuad == 0 &&
                     picture.grey.stride % kQuad == 0;
  return launch("resizing windows", resize_kernel, {dim3(blocks, kBlocksOfRows), kThreads}, picture,
                words, pixels, work);
}

}  // namespace cuface::cuda::surf
