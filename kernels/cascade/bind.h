// Binds parts of a cascade, for code that has features but no bound cascade: training, and a device
// that binds them itself.
#pragma once

#include <cstdint>

#include "kernels/cascade/cascade.h"
#include "kernels/common/host_device.h"

namespace cuface {

/// Offsets of the corners that a rectangle's sum is made of: first - second - third + fourth.
CUFACE_HD inline void bind_upright(int left, int top, int right, int bottom,
                                   const SumLayout& layout, std::int32_t* corner) {
  corner[0] = static_cast<std::int32_t>(layout.offset(left, top));
  corner[1] = static_cast<std::int32_t>(layout.offset(right, top));
  corner[2] = static_cast<std::int32_t>(layout.offset(left, bottom));
  corner[3] = static_cast<std::int32_t>(layout.offset(right, bottom));
}

/// (x,y) is the topmost corner; w runs down to the right, h down to the left.
CUFACE_HD inline void bind_tilted(int x, int y, int w, int h, const SumLayout& layout,
                                  std::int32_t* corner) {
  corner[0] = static_cast<std::int32_t>(layout.tilted + layout.offset(x, y));
  corner[1] = static_cast<std::int32_t>(layout.tilted + layout.offset(x - h, y + h));
  corner[2] = static_cast<std::int32_t>(layout.tilted + layout.offset(x + w, y + w));
  corner[3] = static_cast<std::int32_t>(layout.tilted + layout.offset(x + w - h, y + w + h));
}

BoundFeature bind_feature(const HaarFeature& feature, const SumLayout& layout);

/// OpenCV subtracts this from every stage's threshold, in fp32.
inline constexpr float kStageSlack = 1e-5f;

}  // namespace cuface
