// The direction of a gradient, for the CPU and CUDA.
#pragma once

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

}  // namespace cuface
