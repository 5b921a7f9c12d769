// Values as integers that sort as they do.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/boost/steps.h"
#include "kernels/common/host_device.h"

namespace cuface::boost {

/// Ordered as the floats are; both zeros are one.
CUFACE_HD inline std::uint32_t key_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0f);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

CUFACE_HD inline float value_of(std::uint32_t key) {
  return std::bit_cast<float>(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

/// Whether a split may stand between neighbours with these keys.
CUFACE_HD inline bool are_apart(std::uint32_t key, std::uint32_t next) {
  return value_of(key) + kTieGap < value_of(next);
}

}  // namespace cuface::boost
