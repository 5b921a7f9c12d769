// The gradients around a keypoint for its direction, and the resized window of pixels for its
// descriptor, in plain and in vector code.
#pragma once

#include <math.h>

#include <cstdint>
#include <vector>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/features/direction.h"
#include "kernels/features/features.h"
#include "kernels/surf/rules.h"

namespace cuface::surf {

/// Pixels along a side of a resized window, at most.
inline constexpr int kMostPatch = 25;
/// Directions that are tried, and degrees from one to the next; how wide a window of them is.
inline constexpr int kTurns = 72, kTurnDegrees = 5, kWindowDegrees = 60;

CUFACE_HD inline float scale_of(const Keypoint& k) { return k.size * 1.2f / 9.0f; }

/// Gradients around a keypoint.
struct Gradients {
  std::vector<float> x, y, directions;
  std::vector<std::int32_t> degrees;  ///< directions, rounded
};

/// For each turn the sum of the gradients within 30 degrees of it, in their order.
struct TurnSums {
  float x[kTurns], y[kTurns];
};
void sum_turns(const Gradients& gradients, TurnSums& out);
void sum_turns_vector(const Gradients& gradients, TurnSums& out);

/// Whether a gradient of this direction counts for a turn.
CUFACE_HD inline bool is_of_turn(int degrees, int turn) {
  const int apart =
      degrees < turn * kTurnDegrees ? turn * kTurnDegrees - degrees : degrees - turn * kTurnDegrees;
  return apart < kWindowDegrees / 2 || apart > 360 - kWindowDegrees / 2;
}

/// Where the size x size pixels of a window are. Upright, pixel j of line i is (left + i,
/// bottom - j). Else line 0 begins at (x0, y0), each line (sine, cosine) further, added in float,
/// and its pixels are (cosine, -sine) apart, added in double.
struct WindowOutline {
  int size;
  bool upright;
  int left, bottom;
  float sine, cosine, x0, y0;

  /// The window of a keypoint, which is resized to patch x patch pixels.
  CUFACE_HD static WindowOutline of(const Keypoint& k, bool is_upright, int patch) {
    WindowOutline out{};
    out.size = static_cast<int>(static_cast<float>(patch) * scale_of(k));
    out.upright = is_upright;
    const float offset = -static_cast<float>(out.size - 1) / 2;
    if (is_upright) {
      out.left = nearest(k.x + offset);
      out.bottom = nearest(k.y - offset);
      return out;
    }
    const Roll roll = roll_of(k.angle);
    out.sine = -roll.sin;
    out.cosine = roll.cos;
    out.x0 = k.x + offset * out.cosine + offset * out.sine;
    out.y0 = k.y - offset * out.sine + offset * out.cosine;
    return out;
  }
};

struct WindowPlace : WindowOutline {
  std::vector<float> x, y;  ///< where lines begin, unless upright; room for a vector more

  /// Sets the window of a keypoint, which is resized to this many pixels.
  void set(const Keypoint& k, bool is_upright, int patch);

  /// Calls work(j, x, y) for each pixel of line i, where it is not upright.
  template <typename Work>
  void for_each_of_line(int i, Work work) const {
    double at_x = static_cast<double>(x[static_cast<std::size_t>(i)]),
           at_y = static_cast<double>(y[static_cast<std::size_t>(i)]);
    for (int j = 0; j < size; ++j) {
      work(j, at_x, at_y);
      at_x += static_cast<double>(cosine);
      at_y -= static_cast<double>(sine);
    }
  }
};

/// The pixels of a side that make one of a smaller one, and their weights: `body`, but for a part
/// of a pixel at either end.
struct PixelShare {
  int first, count;
  bool has_head, has_tail;
  float head, body, tail;

  CUFACE_HD float weight(int i) const {
    if (i == 0 && has_head) return head;
    return i == count - 1 && has_tail ? tail : body;
  }

  /// The share of pixel `to` of `to_size`.
  CUFACE_HD static PixelShare of(int from_size, int to_size, int to) {
    constexpr double kLeast = 1e-3;
    const double scale = 1 / (static_cast<double>(to_size) / from_size);
    const double begin = to * scale, end = begin + scale;
    const double rest = from_size - begin, width = scale < rest ? scale : rest;
    const int below = static_cast<int>(floor(end)), above = static_cast<int>(ceil(begin));
    const int last = below < from_size - 1 ? below : from_size - 1;
    const int first = above < last ? above : last;
    PixelShare out;
    out.has_head = first - begin > kLeast;
    out.has_tail = end - last > kLeast;
    out.first = first - (out.has_head ? 1 : 0);
    out.count = last - first + (out.has_head ? 1 : 0) + (out.has_tail ? 1 : 0);
    out.head = static_cast<float>((first - begin) / width);
    out.body = static_cast<float>(1.0 / width);
    const double over = end - last < 1. ? end - last : 1.;
    out.tail = static_cast<float>((over < width ? over : width) / width);
    return out;
  }
};

/// The shares of a side, with their weights one behind the other.
struct Shares {
  struct One {
    int first = 0, count = 0;
    const float* weights = nullptr;
  };
  std::vector<One> of;
  std::vector<float> weights;
};
Shares shares_of(int from_size, int to_size);

/// A mean of side x side whole pixels, and one of shares of pixels, as OpenCV rounds them.
CUFACE_HD inline std::uint8_t mean_of(int sum, int side) {
  return static_cast<std::uint8_t>(
      side == 2 ? (sum + 2) >> 2
                : nearest(static_cast<float>(sum) * (1.f / static_cast<float>(side * side))));
}
CUFACE_HD inline std::uint8_t byte_of(float value) {
  const int whole = nearest(value);
  return static_cast<std::uint8_t>(whole < 0 ? 0 : whole > 255 ? 255 : whole);
}

/// Between four pixels, `a` of the way to the right and `b` down: a whole number. Where `one` is a
/// power of two, `a` and `b` are in parts of it, and the result is times its square.
CUFACE_HD inline float pixel_between(float left_above, float right_above, float left_below,
                                     float right_below, float a, float b, float one = 1) {
  constexpr float kWhole = 3 << 22;  // what is added to it has no fraction
  const float whole = kWhole * one * one;
  const float value = left_above * (one - a) * (one - b) + right_above * a * (one - b) +
                      left_below * (one - a) * b + right_below * a * b;
  return (value + whole) - whole;
}

/// A pixel of a window: between four of the picture, or the nearest one at its sides.
CUFACE_HD inline std::uint8_t pixel_at(const ImageView<const std::uint8_t>& grey, double x,
                                       double y) {
  const int ix = static_cast<int>(floor(x)), iy = static_cast<int>(floor(y));
  if (ix >= 0 && iy >= 0 && ix < grey.width - 1 && iy < grey.height - 1) {
    const std::uint8_t *above = grey.row(iy) + ix, *below = grey.row(iy + 1) + ix;
    return static_cast<std::uint8_t>(pixel_between(above[0], above[1], below[0], below[1],
                                                   static_cast<float>(x - ix),
                                                   static_cast<float>(y - iy)));
  }
  const auto clamped = [](int v, int most) { return v < 0 ? 0 : v > most ? most : v; };
  return grey.row(clamped(nearest(y), grey.height - 1))[clamped(nearest(x), grey.width - 1)];
}

/// Resizes windows to patch x patch bytes, as OpenCV's INTER_AREA does. Each is so wide at least.
class WindowResize {
 public:
  explicit WindowResize(int patch) : patch_(patch) {}

  void run(ImageView<const std::uint8_t> grey, const WindowPlace& place, std::uint8_t* patch);
  void run_vector(ImageView<const std::uint8_t> grey, const WindowPlace& place,
                  std::uint8_t* patch);

 private:
  /// The size of arrays that vectors read.
  static constexpr int kVector = 64;
  /// Sums of a square of pixels are below 2^24 up to this side.
  static constexpr int kMostExactSide = 256;
  /// The pixels of a window: pixel j of line i is first[j * pitch + i].
  struct Lines {
    const std::uint8_t* first;
    std::ptrdiff_t pitch;
  };

  /// The shares of windows of this size.
  const Shares& shares(int size);
  Lines lines_of(const ImageView<const std::uint8_t>& grey, const WindowPlace& place);

  int patch_;
  std::vector<std::uint8_t> pixels_;
  std::vector<float> sums_;
  std::vector<Shares> shares_;  ///< by size
};

}  // namespace cuface::surf
