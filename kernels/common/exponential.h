// e to the power of x: the same bits on every processor, which no library promises.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/common/host_device.h"

namespace cuface {

CUFACE_HD inline float clamped(float x, float limit) {
  return x < -limit ? -limit : x > limit ? limit : x;
}

/// e to the power of x, which is cut to +-80: Cephes' expf, within 2 units in the last place.
CUFACE_HD inline float exponential(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves whole numbers
  x = clamped(x, 80);
  const float n = (x * 1.44269504f + kRound) - kRound;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const std::int32_t bits = (static_cast<std::int32_t>(n) + 127) << 23;
  float power;  // of two
  std::memcpy(&power, &bits, sizeof power);
  return ((p * r) * r + r + 1.0f) * power;
}

}  // namespace cuface
