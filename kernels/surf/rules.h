// The formulas of SURF, for the CPU and CUDA: floats in the order of OpenCV's.
#pragma once

#include <math.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"

namespace cuface::surf {

/// The nearest integer, of two the even one.
CUFACE_HD inline int nearest(float v) { return static_cast<int>(nearbyintf(v)); }
CUFACE_HD inline int nearest(double v) { return static_cast<int>(nearbyint(v)); }

/// A box's sum, of the sums at its corners, weighted.
CUFACE_HD inline float box_sum(std::uint32_t left_above, std::uint32_t right_above,
                               std::uint32_t left_below, std::uint32_t right_below, float weight) {
  const auto all = static_cast<std::int32_t>(left_above + right_below - right_above - left_below);
  return static_cast<float>(all) * weight;
}

/// A wavelet's answer: its boxes' sums, added in double.
template <std::size_t N>
CUFACE_HD float added(const float (&sums)[N]) {
  double all = 0;
  for (std::size_t i = 0; i < N; ++i) all += static_cast<double>(sums[i]);
  return static_cast<float>(all);
}

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
  CUFACE_HD float sum(const ImageView<const std::uint32_t>& sums, int x, int y) const {
    const std::uint32_t *above = sums.row(y + y0) + x, *below = sums.row(y + y1) + x;
    return box_sum(above[x0], above[x1], below[x0], below[x1], weight);
  }
};

CUFACE_HD inline WaveletBox scaled(const WaveletPart& part, int units, int size) {
  const float ratio = static_cast<float>(size) / static_cast<float>(units);
  const auto at = [&](int v) { return nearest(ratio * static_cast<float>(v)); };
  const int x0 = at(part.x0), y0 = at(part.y0), x1 = at(part.x1), y1 = at(part.y1);
  return {x0, y0, x1, y1,
          part.weight / (static_cast<float>(x1 - x0) * static_cast<float>(y1 - y0))};
}

template <std::size_t N>
CUFACE_HD float answer(const WaveletBox (&boxes)[N], const ImageView<const std::uint32_t>& sums,
                       int x, int y) {
  float parts[N];
  for (std::size_t i = 0; i < N; ++i) parts[i] = boxes[i].sum(sums, x, y);
  return added(parts);
}

/// a * x = b in closed form; false, and x is 0, where a has no inverse.
CUFACE_HD inline bool solve(const float (&a)[3][3], const float (&b)[3], float (&x)[3]) {
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
