// The direction of a gradient, and its sine and cosine, for the CPU and CUDA.
#pragma once

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"

namespace cuface {

/// The direction of (x, y) in degrees, 0 to 360: OpenCV's polynomial, good to 0.01 degrees.
CUFACE_HD inline float direction(float y, float x) {
  constexpr auto kDegrees = static_cast<float>(180 / 3.1415926535897932384626433832795);
  constexpr float p1 = 0.9997878412794807f * kDegrees, p3 = -0.3258083974640975f * kDegrees,
                  p5 = 0.1555786518463281f * kDegrees, p7 = -0.04432655554792128f * kDegrees;
  const float along = x < 0 ? -x : x, down = y < 0 ? -y : y;
  const bool flat = along >= down;
  const float c = (flat ? down : along) / ((flat ? along : down) + 2.220446e-16f);
  const float c2 = c * c;
  float angle = (((p7 * c2 + p5) * c2 + p3) * c2 + p1) * c;
  if (!flat) angle = 90.0f - angle;
  if (x < 0) angle = 180.0f - angle;
  if (y < 0) angle = 360.0f - angle;
  return angle;
}

/// Cosine and sine of an angle of 0 to 360 degrees. Taylor's series in double over an eighth of a
/// turn, which is exact to far more than a float: both processors, and nearly always a library's,
/// round it alike.
CUFACE_HD inline Roll roll_of(float degrees) {
  constexpr double kQuarter = 1.5707963267948966;
  const float radians = degrees * static_cast<float>(2 * kQuarter / 180);
  const int quarter = static_cast<int>(static_cast<double>(radians) * (1 / kQuarter) + 0.5);
  const double x = static_cast<double>(radians) - quarter * kQuarter, x2 = x * x;
  double sine = 1, cosine = 1;
  for (int i = 13; i > 1; i -= 2) sine = 1 - x2 / (i * (i - 1)) * sine;
  for (int i = 14; i > 0; i -= 2) cosine = 1 - x2 / (i * (i - 1)) * cosine;
  const auto s = static_cast<float>(x * sine), c = static_cast<float>(cosine);
  switch (quarter & 3) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

}  // namespace cuface
