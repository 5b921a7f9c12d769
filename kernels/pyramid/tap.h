// The source pixels of a LinearResize's pixel, on either processor.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface {

inline constexpr int kWholeWeight = 256;

/// For destination index i the source pair it lies between. Beyond the centres of the outermost
/// source pixels the outermost pixel is repeated.
CUFACE_HD inline LinearResize::Tap resize_tap(int i, int source, int destination) {
  const double inverse = static_cast<double>(destination) / source;
  const double scale = 1.0 / inverse;
  const double position = scale * (i + 0.5) - 0.5;
  const int floor = static_cast<int>(std::floor(position));
  if (floor < 0) return {0, 0, kWholeWeight, 0};
  if (floor >= source - 1) return {source - 1, source - 1, kWholeWeight, 0};
  const int weight = static_cast<int>(std::lrint((position - floor) * kWholeWeight));
  return {floor, floor + 1, static_cast<std::uint16_t>(kWholeWeight - weight),
          static_cast<std::uint16_t>(weight)};
}

}  // namespace cuface
