// A part of the picture as the camera sees it, beside the same part of the frame.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/homography/homography.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface::planar {

/// From the frame back to the picture.
CUFACE_HD inline Homography inverse(const Homography& h) {
  const double* m = h.m;
  return {{m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
           m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
           m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]}};
}

/// How many pixels of the picture one of the frame covers at a point of the frame, as an area.
CUFACE_HD inline double area_at(const Homography& back, Point p) {
  const double* m = back.m;
  const double det = m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
                     m[2] * (m[3] * m[7] - m[4] * m[6]);
  const double w = back.divisor(p);
  return std::abs(det / (w * w * w));
}

/// A square of the frame with a point in its middle.
struct Square {
  int x, y, side;
  CUFACE_HD bool inside(int width, int height) const {
    return x >= 0 && y >= 0 && x + side <= width && y + side <= height;
  }
};

/// The square has `side` pixels, odd; the point is finite and within the frame's range.
CUFACE_HD inline Square square_around(Point p, int side) {
  return {static_cast<int>(std::floor(p.x + 0.5f)) - side / 2,
          static_cast<int>(std::floor(p.y + 0.5f)) - side / 2, side};
}

/// The octave of a picture, as large as that and of so many octaves, whose pixels are about as
/// large as the frame's in the square, as `back` has it. -1 where the square's inner part, `margin`
/// pixels less on each side, is not within the picture.
CUFACE_HD inline int octave_of(int width, int height, int octaves, const Homography& back,
                               const Square& square, int margin) {
  const auto low = static_cast<float>(square.x + margin),
             top = static_cast<float>(square.y + margin);
  const auto size = static_cast<float>(square.side - 2 * margin - 1);
  for (int k = 0; k < 4; ++k) {
    const Point corner{k % 2 ? low + size : low, k / 2 ? top + size : top};
    if (!(back.divisor(corner) > 0)) return -1;
    const Point p = back.apply(corner);
    if (!(p.x >= 0 && p.y >= 0 && p.x <= static_cast<float>(width - 1) &&
          p.y <= static_cast<float>(height - 1)))
      return -1;
  }
  const double area = area_at(back, {low + size / 2, top + size / 2});
  int octave = 0;
  for (double covered = 2; octave + 1 < octaves && area > covered; covered *= 4) ++octave;
  return octave;
}

/// The pixel (x, y) of the frame, as `back` has it, of a picture's octave. Beyond the picture its
/// rim goes on.
CUFACE_HD inline std::uint8_t drawn_pixel(ImageView<const std::uint8_t> from, int octave,
                                          const Homography& back, int x, int y) {
  const double scale = 1.0 / (1 << octave);
  const double u0 = back.m[1] * y + back.m[2], v0 = back.m[4] * y + back.m[5],
               w0 = back.m[7] * y + back.m[8];
  const double over = scale / (back.m[6] * x + w0);
  const double u = std::clamp((back.m[0] * x + u0) * over, 0.0, from.width - 1.0);
  const double v = std::clamp((back.m[3] * x + v0) * over, 0.0, from.height - 1.0);
  const int column = std::min(static_cast<int>(u), from.width - 2);
  const int row = std::min(static_cast<int>(v), from.height - 2);
  const int a = static_cast<int>((u - column) * 256 + 0.5);
  const int b = static_cast<int>((v - row) * 256 + 0.5);
  const std::uint8_t *upper = from.row(row) + column, *lower = from.row(row + 1) + column;
  const int above = upper[0] * (256 - a) + upper[1] * a;
  const int below = lower[0] * (256 - a) + lower[1] * a;
  return static_cast<std::uint8_t>((above * (256 - b) + below * b + (1 << 15)) >> 16);
}

/// Draws the square's part of the picture into `seen`. False as octave_of() is -1.
inline bool draw(GaussianPyramid& picture, const Homography& back, const Square& square, int margin,
                 ImageView<std::uint8_t> seen) {
  const PyramidLevel& all = picture.level(0);
  const int octave = octave_of(all.width, all.height, picture.levels(), back, square, margin);
  if (octave < 0) return false;
  const ImageView<const std::uint8_t> from = picture.level(octave).all();
  for (int y = square.y; y < square.y + square.side; ++y) {
    std::uint8_t* out = seen.row(y);
    for (int x = square.x; x < square.x + square.side; ++x)
      out[x] = drawn_pixel(from, octave, back, x, y);
  }
  return true;
}

/// Integer sums over a square of two pictures.
struct Likeness {
  std::int64_t n = 0, a = 0, b = 0, aa = 0, bb = 0, ab = 0;

  /// n^2 times variance and covariance.
  CUFACE_HD std::int64_t var_a() const { return n * aa - a * a; }
  CUFACE_HD std::int64_t var_b() const { return n * bb - b * b; }
  CUFACE_HD std::int64_t cov() const { return n * ab - a * b; }

  /// The normalised correlation is at least this, which is above 0.
  CUFACE_HD bool at_least(double least) const {
    const auto x = static_cast<double>(cov());
    return x > 0 &&
           x * x >= least * least * (static_cast<double>(var_a()) * static_cast<double>(var_b())) &&
           var_b() > 0 && var_a() > 0;
  }
};

/// Of the square less `margin` pixels on each side, which is within both pictures: a is `seen`, b
/// is `frame`.
inline Likeness compare(ImageView<const std::uint8_t> seen, ImageView<const std::uint8_t> frame,
                        const Square& square, int margin) {
  Likeness sums;
  const int side = square.side - 2 * margin;
  sums.n = std::int64_t{side} * side;
  for (int y = square.y + margin; y < square.y + margin + side; ++y) {
    const std::uint8_t *a = seen.row(y) + square.x + margin, *b = frame.row(y) + square.x + margin;
    int sum_a = 0, sum_b = 0, sum_aa = 0, sum_bb = 0, sum_ab = 0;
    for (int x = 0; x < side; ++x) {
      sum_a += a[x];
      sum_b += b[x];
      sum_aa += a[x] * a[x];
      sum_bb += b[x] * b[x];
      sum_ab += a[x] * b[x];
    }
    sums.a += sum_a;
    sums.b += sum_b;
    sums.aa += sum_aa;
    sums.bb += sum_bb;
    sums.ab += sum_ab;
  }
  return sums;
}

/// The gain and the offset with which a square has the mean and the spread that the frame has
/// there: flow takes light as it is.
struct Light {
  double gain, offset;

  CUFACE_HD explicit Light(const Likeness& sums) {
    constexpr double kMostGain = 4;
    gain = std::min(std::sqrt(static_cast<double>(sums.var_b()) /
                              static_cast<double>(std::max<std::int64_t>(sums.var_a(), 1))),
                    kMostGain);
    const auto n = static_cast<double>(sums.n);
    offset = static_cast<double>(sums.b) / n - gain * (static_cast<double>(sums.a) / n);
  }
  CUFACE_HD std::uint8_t apply(int grey) const {
    return static_cast<std::uint8_t>(std::clamp(gain * grey + offset + 0.5, 0.0, 255.0));
  }
};

/// Gives the drawn square the frame's light; `sums` as compare() tells them.
inline void relight(ImageView<std::uint8_t> seen, const Square& square, const Likeness& sums) {
  const Light light(sums);
  std::uint8_t table[256];
  for (int v = 0; v < 256; ++v) table[v] = light.apply(v);
  for (int y = square.y; y < square.y + square.side; ++y) {
    std::uint8_t* row = seen.row(y) + square.x;
    for (int x = 0; x < square.side; ++x) row[x] = table[row[x]];
  }
}

}  // namespace cuface::planar
