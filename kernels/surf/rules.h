// The formulas of SURF: floats in the order of OpenCV's.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/common/image.h"

namespace cuface::surf {

/// The nearest integer, of two the even one.
inline int nearest(float v) { return static_cast<int>(std::nearbyint(v)); }
inline int nearest(double v) { return static_cast<int>(std::nearbyint(v)); }

/// A rectangle of a wavelet, in its own units, and its weight.
struct WaveletPart {
  int x0, y0, x1, y1;
  float weight;
};

/// The same in pixels; its weight is that of a pixel.
struct WaveletBox {
  int x0, y0, x1, y1;
  float weight;

  /// The sum over it of the wavelet that begins at (x, y), weighted. `sums` are of integral().
  float sum(const ImageView<const std::uint32_t>& sums, int x, int y) const {
    const std::uint32_t *above = sums.row(y + y0) + x, *below = sums.row(y + y1) + x;
    const auto all = static_cast<std::int32_t>(above[x0] + below[x1] - above[x1] - below[x0]);
    return static_cast<float>(all) * weight;
  }
};

inline WaveletBox scaled(const WaveletPart& part, int units, int size) {
  const float ratio = static_cast<float>(size) / static_cast<float>(units);
  const auto at = [&](int v) { return nearest(ratio * static_cast<float>(v)); };
  const int x0 = at(part.x0), y0 = at(part.y0), x1 = at(part.x1), y1 = at(part.y1);
  return {x0, y0, x1, y1,
          part.weight / (static_cast<float>(x1 - x0) * static_cast<float>(y1 - y0))};
}

/// A wavelet's answer: its boxes' sums, added in double.
template <std::size_t N>
float answer(const WaveletBox (&boxes)[N], const ImageView<const std::uint32_t>& sums, int x,
             int y) {
  double all = 0;
  for (const WaveletBox& box : boxes) all += static_cast<double>(box.sum(sums, x, y));
  return static_cast<float>(all);
}

/// a * x = b in closed form; false, and x is 0, where a has no inverse.
inline bool solve(const float (&a)[3][3], const float (&b)[3], float (&x)[3]) {
  x[0] = x[1] = x[2] = 0;
  float d = a[0][0] * (a[1][1] * a[2][2] - a[2][1] * a[1][2]) -
            a[0][1] * (a[1][0] * a[2][2] - a[2][0] * a[1][2]) +
            a[0][2] * (a[1][0] * a[2][1] - a[2][0] * a[1][1]);
  if (d == 0) return false;
  d = 1 / d;
  x[0] = d * (b[0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) -
              a[0][1] * (b[1] * a[2][2] - a[1][2] * b[2]) +
              a[0][2] * (b[1] * a[2][1] - a[1][1] * b[2]));
  x[1] = d * (a[0][0] * (b[1] * a[2][2] - a[1][2] * b[2]) -
              b[0] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
              a[0][2] * (a[1][0] * b[2] - b[1] * a[2][0]));
  x[2] = d * (a[0][0] * (a[1][1] * b[2] - b[1] * a[2][1]) -
              a[0][1] * (a[1][0] * b[2] - b[1] * a[2][0]) +
              b[0] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]));
  return true;
}

}  // namespace cuface::surf
