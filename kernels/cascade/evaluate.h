// The arithmetic of one window, for the host and for a device alike.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cascade/cascade.h"
#include "kernels/common/host_device.h"

namespace cuface {

/// 1 / sqrt(area * squares - sum^2) of a window less its border; 0 where the window is flat.
/// Everything but the root and the division is exact.
CUFACE_HD inline float inverse_norm(double area, double sum, std::uint32_t squares) {
  // In two halves, because vector units convert signed numbers only.
  const double q = static_cast<std::int32_t>(squares >> 16) * 65536.0 +
                   static_cast<std::int32_t>(squares & 0xffff);
  const double nf = area * q - sum * sum;
  const float v = static_cast<float>(1.0 / std::sqrt(nf));
  const bool usable = (nf > 0) & (area * static_cast<double>(v) < 0.1);
  return usable ? v : 0.0f;
}

/// The leaf that the window reaches.
CUFACE_HD inline float tree_value(const BoundCascade::Node* nodes, const float* leaves,
                                  const std::uint32_t* window, float inverse_norm) {
  int child = 0;
  do {
    const BoundCascade::Node& node = nodes[child];
    const float value = node.feature.value(window) * inverse_norm;
    child = value < node.threshold ? node.left : node.right;
  } while (child > 0);
  return leaves[-child];
}

}  // namespace cuface
