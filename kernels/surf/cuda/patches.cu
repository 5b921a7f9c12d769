#include <algorithm>
#include <cstddef>

#include "kernels/surf/cuda/patches.h"
#include "kernels/surf/cuda/window.cuh"

namespace cuface::cuda::surf {
namespace {

using cuface::surf::pixel_at;
using cuface::surf::pixel_between;

constexpr int kWarps = 3, kThreads = kWarps * kWarp;
/// Of a multiprocessor.
constexpr int kBlocksAtOnce = 8;
constexpr unsigned kMostBlocks = 1056;

/// The picture around kSpan pixels of kWarp lines, which may lie at any angle: at 45 degrees they
/// are 45 pixels wide and high, and one more to the right and below.
constexpr int kQuad = 4;  // bytes that are read at once
constexpr int kAroundRows = 46, kAroundWidth = 52;
static_assert(kAroundWidth % kQuad == 0 && kAroundWidth / kQuad % 2 == 1,
              "columns of pixels lie in different banks");
static_assert(kAroundWidth >= kAroundRows + kQuad - 1 && kAroundWidth / kQuad <= kWarp / 2);

/// Multiples of 2^-32 that are this small: their sums in double are exact, in any order.
constexpr double kFraction = 4294967296.0;
__device__ inline bool is_exact(float v) {
  const double scaled = static_cast<double>(v) * kFraction;
  return fabsf(v) < 32768 && scaled == floor(scaled);
}
__device__ inline long long in_fractions(float v) {
  return static_cast<long long>(static_cast<double>(v) * kFraction);
}
__device__ inline int whole_of(long long v) { return static_cast<int>(v >> 32); }
__device__ inline float fraction_of(long long v) {
  return static_cast<float>(static_cast<std::uint32_t>(v)) * static_cast<float>(1 / kFraction);
}
/// As nearest() of the same number in double.
__device__ inline int nearest_of(long long v) {
  return whole_of(v + 0x7fffffff + (whole_of(v) & 1));
}
__device__ inline int clamped(int v, int size) { return min(max(v, 0), size - 1); }

using Around = std::uint8_t[kAroundRows][kAroundWidth];
struct Part {
  PixelShare shares[kMostPatch];
  alignas(kQuad) Around around[kWarps];
  /// Of each column of the patch, of each line, the sum of the pixels that become one.
  float sums[kMostPatch][kMostLines];
};

/// Lines of a window and columns of its patch.
struct Area {
  int first, lines;
  int column, column_end;
};

/// For a whole warp, a lane a line: the line's sums. `pixels` begins with the area's first ones.
template <typename Pixels>
__device__ inline void sum_line(const Area& area, int line, Part& part, Pixels pixels) {
  int at = part.shares[area.column].first - 1;
  float value = 0;
  for (int x = area.column; x < area.column_end; ++x) {
    const PixelShare share = part.shares[x];
    float sum = 0;
    int i = 0;
    // Two columns may share a pixel.
    if (share.first <= at) sum += value * share.weight(i++);
    const int end = share.count - (share.has_tail ? 1 : 0);
    // One pixel of another weight, pixels of one weight, one of another: a loop, as this is long.
#pragma unroll 1
    while (i < share.count) {
      const bool is_head = i == 0 && share.has_head;
      const int count = is_head || i >= end ? 1 : end - i;
      value = pixels.add(count, share.weight(i), sum);
      i += count;
    }
    at = share.first + share.count - 1;
    if (line < area.lines) part.sums[x][line] = sum;
  }
}

/// The next `count` pixels, at least one: adds them to a sum. Gives the last.
template <typename Next>
__device__ inline float add_next(int count, float weight, float& sum, const Next& next) {
  float value = 0;
#pragma unroll 4
  for (int i = 0; i < count; ++i) {
    value = next();
    sum += value * weight;
  }
  return value;
}

/// The pixels of the lanes' lines. All is in whole numbers, from a copy of the picture.
class ExactPixels {
 public:
  /// `x` and `y` in 2^-32: the first of `count` pixels.
  __device__ ExactPixels(const SummedPicture& picture, bool words, long long x, long long y,
                         const WindowOutline& outline, int count, Around& around)
      : grey_(picture.grey), words_(words), x_(x), y_(y), left_(count), around_(around) {
    const int spans = (count + kSpan - 1) / kSpan;
    each_ = (count + spans - 1) / spans;
    // All lanes have the same. As another lane's they are not computed again for each pixel.
    step_x_ = __shfl_sync(kAllLanes, in_fractions(outline.cosine), 0);
    step_y_ = __shfl_sync(kAllLanes, -in_fractions(outline.sine), 0);
  }

  __device__ float add(int count, float weight, float& sum) {
    float value = 0;
#pragma unroll 1
    while (count > 0) {
      if (ready_ == 0) load();
      const int these = min(count, ready_);
      count -= these;
      ready_ -= these;
      value = is_inside_ ? add_next(these, weight, sum, [&] { return inside(); })
                         : add_next(these, weight, sum, [&] { return anywhere(); });
    }
    return value;
  }

 private:
  __device__ float inside() {
    const std::uint8_t *above = first_ + whole_of(y_) * kAroundWidth + whole_of(x_),
                       *below = above + kAroundWidth;
    const float a = fraction_of(x_), b = fraction_of(y_);
    x_ += step_x_;
    y_ += step_y_;
    return pixel_between(above[0], above[1], below[0], below[1], a, b);
  }
  /// As pixel_at().
  __device__ float anywhere() {
    const int x = whole_of(x_), y = whole_of(y_);
    if (x >= 0 && y >= 0 && x < grey_.width - 1 && y < grey_.height - 1) return inside();
    const int at =
        clamped(nearest_of(y_), grey_.height) * kAroundWidth + clamped(nearest_of(x_), grey_.width);
    x_ += step_x_;
    y_ += step_y_;
    return first_[at];
  }

  /// For a whole warp: the picture around the next pixels.
  __device__ void load() {
    ready_ = min(each_, left_);
    left_ -= ready_;
    const auto bounds = [&](long long at, long long step, int& least, int& most) {
      const long long a = __shfl_sync(kAllLanes, at, 0), b = __shfl_sync(kAllLanes, at, kWarp - 1),
                      to = (ready_ - 1) * step;
      least = whole_of(min(a, b) + min(to, 0ll));
      most = whole_of(max(a, b) + max(to, 0ll)) + 1;
    };
    int left, right, top, bottom;
    bounds(x_, step_x_, left, right);
    bounds(y_, step_y_, top, bottom);
    is_inside_ = left >= 0 && top >= 0 && right < grey_.width && bottom < grey_.height;
    left = clamped(left, grey_.width) / kQuad * kQuad;
    top = clamped(top, grey_.height);
    const int quads = (clamped(right, grey_.width) - left) / kQuad + 1,
              rows = clamped(bottom, grey_.height) - top + 1;
    const int lane = static_cast<int>(threadIdx.x) % kWarp, quad = lane % (kWarp / 2);
    const int x = left + quad * kQuad;
    const std::uint8_t* from = grey_.row(top);
    const auto copy = [&](const auto& read) {
#pragma unroll 4
      for (int row = lane / (kWarp / 2); row < rows; row += 2)
        if (quad < quads)
          *reinterpret_cast<std::uint32_t*>(&around_[row][quad * kQuad]) =
              read(from + row * grey_.stride);
    };
    __syncwarp();  // those before are read
    if (words_ && left + quads * kQuad <= grey_.width) {
      copy([&](const std::uint8_t* line) {
        return __ldg(reinterpret_cast<const std::uint32_t*>(line + x));
      });
    } else {
      copy([&](const std::uint8_t* line) {
        std::uint32_t bytes = 0;
        for (int k = 0; k < kQuad; ++k)
          bytes |= static_cast<std::uint32_t>(line[min(x + k, grey_.width - 1)]) << (8 * k);
        return bytes;
      });
    }
    first_ = &around_[0][0] - (top * kAroundWidth + left);
    __syncwarp();
  }

  const ImageView<const std::uint8_t> grey_;
  const bool words_;
  long long x_, y_, step_x_, step_y_;
  int each_, left_;  ///< pixels of a span; of those behind it
  Around& around_;
  int ready_ = 0;
  bool is_inside_ = false;
  const std::uint8_t* first_ = nullptr;  ///< where the picture's first pixel would be
};

/// The same, as WindowPlace::for_each_of_line().
class AddedPixels {
 public:
  __device__ AddedPixels(const SummedPicture& picture, float x, float y,
                         const WindowOutline& outline, int before)
      : grey_(picture.grey),
        x_(static_cast<double>(x)),
        y_(static_cast<double>(y)),
        step_x_(static_cast<double>(outline.cosine)),
        step_y_(static_cast<double>(outline.sine)) {
    for (int i = 0; i < before; ++i) step();
  }
  __device__ float add(int count, float weight, float& sum) {
    return add_next(count, weight, sum, [&] {
      const float value = pixel_at(grey_, x_, y_);
      step();
      return value;
    });
  }

 private:
  __device__ void step() {
    x_ += step_x_;
    y_ -= step_y_;
  }
  const ImageView<const std::uint8_t> grey_;
  double x_, y_, step_x_, step_y_;
};

class UprightPixels {
 public:
  __device__ UprightPixels(const SummedPicture& picture, int x, int y)
      : column_(picture.grey.data + clamped(x, picture.grey.width)),
        height_(picture.grey.height),
        stride_(picture.grey.stride),
        y_(y) {}
  __device__ float add(int count, float weight, float& sum) {
    return add_next(count, weight, sum,
                    [&]() -> float { return __ldg(column_ + clamped(y_--, height_) * stride_); });
  }

 private:
  const std::uint8_t* column_;
  const int height_;
  const std::ptrdiff_t stride_;
  int y_;
};

/// For a whole warp: the sums of kWarp lines, from line `from` of the area on.
template <bool kUpright>
__device__ void sum_lines(const SummedPicture& picture, bool words, int pixels,
                          const Window& window, const WindowOutline& outline, const Area& area,
                          int from, Around& around, Part& part) {
  const int line = from + static_cast<int>(threadIdx.x) % kWarp;
  const PixelShare last = part.shares[area.column_end - 1];
  const int begin = part.shares[area.column].first, end = last.first + last.count;
  if constexpr (kUpright) {
    sum_line(area, line, part,
             UprightPixels(picture, outline.left + area.first + line, outline.bottom - begin));
    return;
  }
  // Lanes without a line have the last one.
  const int number = area.first + min(line, area.lines - 1);
  const int row = min(number * pixels / outline.size, pixels - 1);
  float x = window.x[row], y = window.y[row];
  for (int i = part.shares[row].first; i < number; ++i) {
    x += outline.sine;
    y += outline.cosine;
  }
  const bool is_odd = !is_exact(x) || !is_exact(y) || !is_exact(outline.cosine) ||
                      !is_exact(outline.sine) || outline.size > 32767;
  if (__any_sync(kAllLanes, is_odd)) {
    sum_line(area, line, part, AddedPixels(picture, x, y, outline, begin));
  } else {
    sum_line(area, line, part,
             ExactPixels(picture, words, in_fractions(x) + begin * in_fractions(outline.cosine),
                         in_fractions(y) - begin * in_fractions(outline.sine), outline, end - begin,
                         around));
  }
}

/// A block a part of a window.
template <bool kUpright>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    resize_kernel(const __grid_constant__ SummedPicture picture, bool words, int pixels,
                  const __grid_constant__ BlobWork work) {
  __shared__ Part part;
  __shared__ std::uint32_t next;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp;
  const std::uint32_t count = *work.part_count;
  for (;;) {
    if (thread == 0) next = atomicAdd(work.taken, 1u);
    __syncthreads();
    if (next >= count) return;
    const WindowPart which = work.parts[next];
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
    std::uint8_t* patch = work.patches + static_cast<std::size_t>(which.keypoint) * pixels * pixels;
    // Of a row with more lines than there is room for: it is alone then.
    std::int32_t whole_before = 0;
    float before = 0;
    for (int first = begin; first < end; first += kMostLines) {
      const int lines = min(kMostLines, end - first), chunks = (lines + kWarp - 1) / kWarp;
      for (int i = warp; i < chunks * own_groups; i += kWarps) {
        const int column = (static_cast<int>(which.part) + i / chunks * cut.parts) * cut.columns;
        sum_lines<kUpright>(picture, words, pixels, window, outline,
                            {first, lines, column, min(column + cut.columns, pixels)},
                            i % chunks * kWarp, part.around[warp], part);
      }
      __syncthreads();
      for (int i = thread; i < (row_end - row) * pixels; i += kThreads) {
        const int x = i % pixels, y = row + i / pixels;
        if (x / cut.columns % cut.parts != static_cast<int>(which.part)) continue;
        const PixelShare share = part.shares[y];
        const int line_end = min(share.first + share.count, first + lines);
        std::int32_t whole = whole_before;
        float sum = before;
        for (int line = max(share.first, first); line < line_end; ++line) {
          const float of_line = part.sums[x][line - first];
          whole += static_cast<std::int32_t>(of_line);
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
  const bool words = reinterpret_cast<std::uintptr_t>(picture.grey.data) % kQuad == 0 &&
                     picture.grey.stride % kQuad == 0;
  return launch("resizing windows", upright ? resize_kernel<true> : resize_kernel<false>,
                {blocks, kThreads}, picture, words, pixels, work);
}

}  // namespace cuface::cuda::surf
