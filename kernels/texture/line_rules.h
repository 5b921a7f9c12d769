// The computation of line profiles, on either processor, in double and in Stasm 4.1's order of
// sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/texture/texture.h"

namespace cuface::texture {

CUFACE_HD inline bool is_zero(double v) { return std::abs(v) < 1e-7; }

/// To length 1, by the reciprocal as OpenCV divides a matrix.
CUFACE_HD inline void normalise(ShapePoint& v) {
  const double norm = std::sqrt(v.x * v.x + v.y * v.y);
  if (is_zero(norm)) return;
  const double factor = 1 / norm;
  v.x *= factor;
  v.y *= factor;
}

/// whisker_step().
CUFACE_HD inline ShapePoint step_of(const ShapePoint& previous, const ShapePoint& point,
                                    const ShapePoint& next) {
  const auto is_at_point = [&](const ShapePoint& a) {
    return is_zero(a.x - point.x) && is_zero(a.y - point.y);
  };
  if (is_at_point(previous) || is_at_point(next)) return {1, 0};
  ShapePoint u{point.y - previous.y, previous.x - point.x};
  ShapePoint v{next.y - point.y, point.x - next.x};
  normalise(u);
  normalise(v);
  ShapePoint w{u.x + v.x, u.y + v.y};
  normalise(w);
  if (is_zero(w.x) && is_zero(w.y)) {
    w = {point.x - previous.x, point.y - previous.y};
    normalise(w);
  }
  const double larger = std::max(std::abs(w.x), std::abs(w.y));
  return {-w.x / larger, -w.y / larger};
}

/// Unlike a cast of lrint()'s value, defined for every number.
CUFACE_HD inline int rounded(double v) {
  return static_cast<int>(std::lrint(std::clamp(v, -1e6, 1e6)));
}

/// The pixel `i` steps along a line; beyond the picture the nearest one.
CUFACE_HD inline int line_pixel(const ImageView<const std::uint8_t>& picture,
                                const ShapePoint& point, const ShapePoint& step, int i) {
  return picture.at(std::clamp(rounded(point.x + i * step.x), 0, picture.width - 1),
                    std::clamp(rounded(point.y + i * step.y), 0, picture.height - 1));
}

/// What makes a profile's mean absolute value 1; of zeros 1.
CUFACE_HD inline double line_factor(const double* profile, int length) {
  double sum = 0;
  for (int i = length; i-- > 0;) sum += std::abs(profile[i]);
  return is_zero(sum) ? 1 : static_cast<double>(length) / sum;
}

/// x^T m x of a symmetric matrix, by its upper triangle, from the last row up.
CUFACE_HD inline double quadratic(const double* x, const double* m, int n) {
  double diagonal = 0, above = 0;
  for (int i = n; i-- > 0;) {
    const double* const row = m + static_cast<std::ptrdiff_t>(i) * n;
    diagonal += row[i] * (x[i] * x[i]);
    for (int j = i + 1; j < n; ++j) above += row[j] * x[i] * x[j];
  }
  return diagonal + 2 * above;
}

/// What the profile of these gradients costs.
CUFACE_HD inline double line_cost(const double* gradients, int length, const double* mean,
                                  const double* inverse) {
  double profile[kMaxLineLength];
  const double factor = line_factor(gradients, length);
  for (int i = 0; i < length; ++i) profile[i] = gradients[i] * factor - mean[i];
  return quadratic(profile, inverse, length);
}

}  // namespace cuface::texture
