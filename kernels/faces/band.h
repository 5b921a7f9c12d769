// A part of the picture that a search looks at: one of several bands, from top to bottom, or what
// is active.
#pragma once

#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"

namespace cuface {

/// The faces whose middle lies between the band's borders. count 1 = the whole picture, 0 = nothing
/// of it. Of a whole picture that is `active_only` there are those in its changed parts and where
/// faces are followed (kernels/activity): a followed face was looked for.
struct Band {
  std::int32_t index = 0, count = 0, active_only = 0;

  CUFACE_HD bool is_part() const { return count > 1 || active_only; }
  friend bool operator==(const Band&, const Band&) = default;
};
inline constexpr Band kWholePicture = {0, 1};
inline constexpr Band kActiveParts = {0, 1, 1};

/// The row of a picture at which band `index` of `count` begins and the one above ends. The outer
/// bands are higher: the middles of larger faces lie further inside.
CUFACE_HD inline int band_border(int height, int index, int count) {
  const int outer = height / 16;
  return outer + (height - 2 * outer) * index / count;
}

/// Whether a box belongs to the band of a picture that high, or lies at most `margin` heights of
/// its own outside. The outer bands reach as far as boxes do.
CUFACE_HD inline bool is_in(const Band& band, const Box& box, int height, float margin) {
  const float middle = box.y + box.h / 2, reach = margin * box.h;
  const auto top = static_cast<float>(band_border(height, band.index, band.count));
  const auto bottom = static_cast<float>(band_border(height, band.index + 1, band.count));
  return (band.index == 0 || middle >= top - reach) &&
         (band.index + 1 >= band.count || middle < bottom + reach);
}

}  // namespace cuface
