// Where the pixels of windows come from. Each source belongs to a warp, gives the next pixels of
// its lanes' lines to take(), and says by line() which these lines are: a lane has kOwn.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/surf/cuda/window.cuh"

namespace cuface::cuda::surf {

using cuface::surf::pixel_at;
using cuface::surf::pixel_between;

constexpr int kQuad = 4;  // bytes of an upright window that are read at once
/// Those of a line from x on; behind a side its last pixel stands again.
__device__ inline std::uint32_t word_of(const std::uint8_t* line, int x, int width) {
  std::uint32_t bytes = 0;
  for (int k = 0; k < kQuad; ++k)
    bytes |= static_cast<std::uint32_t>(line[min(max(x + k, 0), width - 1)]) << (8 * k);
  return bytes;
}

/// The picture around kSpan pixels of kWarp lines, which may lie at any angle: at 45 degrees they
/// are 45 pixels wide and high, and one more to the right and below.
constexpr int kAroundRows = 46, kAroundWidth = 56;
constexpr int kCopied = 8, kCopiedOfRow = 8;  // bytes that a lane copies at once, lanes of a row
static_assert(kAroundWidth % kCopied == 0 && kAroundWidth / kCopied % 2 == 1,
              "two columns of pixels at most lie in the same bank");
static_assert(kAroundWidth >= kAroundRows + kCopied - 1 && kAroundWidth / kCopied <= kCopiedOfRow);

/// Multiples of 2^-32 that are this small: their sums in double are exact, in any order.
constexpr float kFraction = 4294967296.0f;
__device__ inline bool is_exact(float v) {
  const double scaled = static_cast<double>(v) * static_cast<double>(kFraction);
  return fabsf(v) < 32768 && scaled == floor(scaled);
}
__device__ inline long long in_fractions(float v) {
  return static_cast<long long>(static_cast<double>(v) * static_cast<double>(kFraction));
}
__device__ inline int whole_of(long long v) { return static_cast<int>(v >> 32); }
__device__ inline long long plus_whole(long long v, int whole) {
  return v + static_cast<long long>(whole) * (1ll << 32);
}
/// In 2^-32.
__device__ inline float fraction_of(long long v) {
  return static_cast<float>(static_cast<std::uint32_t>(v));
}
/// As nearest() of the same number in double.
__device__ inline int nearest_of(long long v) {
  return whole_of(v + 0x7fffffff + (whole_of(v) & 1));
}
__device__ inline int clamped(int v, int size) { return min(max(v, 0), size - 1); }

/// A place in 2^-32.
struct ExactPlace {
  long long x, y;
};
/// What a warp has copied: of a turned window the picture around, of an upright one a lane's words.
struct TurnedCopy {
  std::uint8_t bytes[kAroundRows][kAroundWidth];
};
struct UprightCopy {
  std::uint32_t of[kSpan][kWarp];
};

/// The pixels of the lanes' lines. All is in whole numbers, from a copy of the picture.
class ExactPixels {
 public:
  static constexpr int kOwn = 1;
  /// Of what pixels are multiplied with: they are in 2^-64, as their fractions are in 2^-32.
  static constexpr float kScale = 1 / kFraction / kFraction;

  /// `count` pixels of the line that begins there, behind `before` others.
  __device__ ExactPixels(const SummedPicture& picture, bool words, int line,
                         const ExactPlace& begin, const ExactPlace& step, int before, int count,
                         TurnedCopy& around)
      : grey_(picture.grey),
        words_(words),
        line_(line),
        step_x_(step.x),
        step_y_(step.y),
        x_(begin.x + before * step_x_),
        y_(begin.y + before * step_y_),
        each_(count),
        left_(count),
        around_(around.bytes) {
    if (count <= kSpan) return;
    const int spans = (count + kSpan - 1) / kSpan;
    each_ = (count + spans - 1) / spans;
  }

  __device__ int line(int) const { return line_; }
  /// The next pixels, `count` at most and one at least: a call of `work` each.
  template <typename Work>
  __device__ int take(int count, float (&values)[kOwn], const Work& work) {
    if (ready_ == 0) load();
    const int these = min(count, ready_);
    ready_ -= these;
    const auto each = [&](const auto& next) {
#pragma unroll 4
      for (int k = 0; k < these; ++k) {
        values[0] = next();
        work(k);
      }
    };
    if (is_inside_) {
      each([&] { return inside(); });
    } else {
      each([&] { return anywhere(); });
    }
    return these;
  }

 private:
  __device__ float inside() {
    const std::uint8_t *above = &around_[0][0] + whole_of(y_) * kAroundWidth + whole_of(x_),
                       *below = above + kAroundWidth;
    const float a = fraction_of(x_), b = fraction_of(y_);
    x_ += step_x_;
    y_ += step_y_;
    return pixel_between(above[0], above[1], below[0], below[1], a, b, kFraction);
  }
  /// As pixel_at().
  __device__ float anywhere() {
    const int x = whole_of(x_) + left_column_, y = whole_of(y_) + top_;
    if (x >= 0 && y >= 0 && x < grey_.width - 1 && y < grey_.height - 1) return inside();
    const int row = clamped(nearest_of(plus_whole(y_, top_)), grey_.height) - top_,
              column =
                  clamped(nearest_of(plus_whole(x_, left_column_)), grey_.width) - left_column_;
    x_ += step_x_;
    y_ += step_y_;
    return around_[row][column] * (1 / kScale);
  }

  /// For a whole warp: the picture around the next pixels. Places are in it from then on.
  __device__ void load() {
    ready_ = min(each_, left_);
    left_ -= ready_;
    x_ = plus_whole(x_, left_column_);
    y_ = plus_whole(y_, top_);
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
    left_column_ = left = clamped(left, grey_.width) / kCopied * kCopied;
    top_ = top = clamped(top, grey_.height);
    x_ = plus_whole(x_, -left);
    y_ = plus_whole(y_, -top);
    const int count = (clamped(right, grey_.width) - left) / kCopied + 1,
              rows = clamped(bottom, grey_.height) - top + 1;
    const int lane = static_cast<int>(threadIdx.x) % kWarp, own = lane % kCopiedOfRow;
    const int x = left + own * kCopied;
    const std::uint8_t* from = grey_.row(top);
    const auto copy = [&](const auto& read) {
#pragma unroll 4
      for (int row = lane / kCopiedOfRow; row < rows; row += kWarp / kCopiedOfRow)
        if (own < count)
          *reinterpret_cast<uint2*>(&around_[row][own * kCopied]) = read(from + row * grey_.stride);
    };
    __syncwarp();  // those before are read
    if (words_ && left + count * kCopied <= grey_.width) {
      copy([&](const std::uint8_t* line) {
        return __ldg(reinterpret_cast<const uint2*>(line + x));
      });
    } else {
      copy([&](const std::uint8_t* line) {
        return uint2{word_of(line, x, grey_.width), word_of(line, x + kQuad, grey_.width)};
      });
    }
    __syncwarp();
  }

  const ImageView<const std::uint8_t> grey_;
  const bool words_;
  const int line_;
  const long long step_x_, step_y_;
  long long x_, y_;  ///< from the copy's corner
  int each_, left_;  ///< pixels of a span; of those behind it
  std::uint8_t (&around_)[kAroundRows][kAroundWidth];
  int ready_ = 0;
  bool is_inside_ = false;
  int left_column_ = 0, top_ = 0;  ///< of the copy
};

/// The same, as WindowPlace::for_each_of_line().
class AddedPixels {
 public:
  static constexpr int kOwn = 1;
  static constexpr float kScale = 1;

  __device__ AddedPixels(const SummedPicture& picture, int line, float x, float y,
                         const WindowOutline& outline, int before)
      : grey_(picture.grey),
        line_(line),
        x_(static_cast<double>(x)),
        y_(static_cast<double>(y)),
        step_x_(static_cast<double>(outline.cosine)),
        step_y_(static_cast<double>(outline.sine)) {
    for (int i = 0; i < before; ++i) step();
  }
  __device__ int line(int) const { return line_; }
  template <typename Work>
  __device__ int take(int, float (&values)[kOwn], const Work& work) {
    values[0] = pixel_at(grey_, x_, y_);
    step();
    work(0);
    return 1;
  }

 private:
  __device__ void step() {
    x_ += step_x_;
    y_ -= step_y_;
  }
  const ImageView<const std::uint8_t> grey_;
  const int line_;
  double x_, y_, step_x_, step_y_;
};

/// A lane has four lines: columns of the picture, a word of each of its rows.
class UprightPixels {
 public:
  static constexpr int kOwn = kQuad;
  static constexpr float kScale = 1;

  /// The lines from column x on, upwards from y.
  __device__ UprightPixels(const SummedPicture& picture, bool words, int x, int y, int count,
                           UprightCopy& around)
      : grey_(picture.grey),
        lane_(static_cast<int>(threadIdx.x) % kWarp),
        x_((x & -kQuad) + lane_ * kQuad),
        first_line_(x_ - x),
        words_(words && x_ >= 0 && x_ + kQuad <= picture.grey.width),
        y_(y),
        left_(count),
        around_(around) {}

  __device__ int line(int k) const { return first_line_ + k; }
  template <typename Work>
  __device__ int take(int count, float (&values)[kOwn], const Work& work) {
    if (taken_ == ready_) load();
    const int these = min(count, ready_ - taken_);
#pragma unroll 4
    for (int k = 0; k < these; ++k) {
      const std::uint32_t word = around_.of[taken_ + k][lane_];
#pragma unroll
      for (int i = 0; i < kOwn; ++i) values[i] = static_cast<float>(word >> (8 * i) & 0xff);
      work(k);
    }
    taken_ += these;
    return these;
  }

 private:
  __device__ void load() {
    taken_ = 0;
    ready_ = min(kSpan, left_);
    left_ -= ready_;
    const auto copy = [&](const auto& read) {
#pragma unroll 8
      for (int k = 0; k < ready_; ++k)
        around_.of[k][lane_] = read(grey_.row(clamped(y_ - k, grey_.height)));
    };
    if (words_) {
      copy([&](const std::uint8_t* line) {
        return __ldg(reinterpret_cast<const std::uint32_t*>(line + x_));
      });
    } else {
      copy([&](const std::uint8_t* line) { return word_of(line, x_, grey_.width); });
    }
    y_ -= ready_;
  }

  const ImageView<const std::uint8_t> grey_;
  const int lane_, x_, first_line_;
  const bool words_;
  int y_, left_;
  UprightCopy& around_;
  int taken_ = 0, ready_ = 0;
};

}  // namespace cuface::cuda::surf
