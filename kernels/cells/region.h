// The part of the picture that a search covers: one of several bands, from top to bottom, or the
// active parts.
#pragma once

#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"

namespace cuface {

/// A band covers the faces whose middle lies between its borders. count 1 = the whole picture, 0 =
/// nothing. With `active_only` the search covers the changed parts, and the surroundings of
/// followed faces (kernels/activity). See kChangedParts and kNewParts for its other values.
struct SearchRegion {
  std::int32_t index = 0, count = 0, active_only = 0;

  CUFACE_HD bool is_part() const { return count > 1 || active_only; }
  CUFACE_HD bool only_if_changed() const { return active_only > 1; }
  CUFACE_HD bool only_new() const { return active_only > 2; }
  CUFACE_HD explicit operator bool() const { return count > 0; }
  friend bool operator==(const SearchRegion&, const SearchRegion&) = default;
};
inline constexpr SearchRegion kWholePicture = {0, 1};
inline constexpr SearchRegion kActiveParts = {0, 1, 1};
/// The same, and nothing at all if nothing has changed.
inline constexpr SearchRegion kChangedParts = {0, 1, 2};
/// Changed parts without a followed face. Followed faces are not searched for.
inline constexpr SearchRegion kNewParts = {0, 1, 3};

/// The bands of a picture, at most: narrower ones would be searched twice, since a band includes a
/// margin.
inline constexpr std::int32_t kMostBands = 16;

/// The row of a picture at which band `index` of `count` begins and the one above ends. The outer
/// bands are higher: the middles of larger faces lie further inside.
CUFACE_HD inline int band_border(int height, int index, int count) {
  const int outer = height / 16;
  return outer + (height - 2 * outer) * index / count;
}

/// Whether a box belongs to the band of a picture that high, or lies at most `margin` heights of
/// its own outside. The outer bands reach as far as boxes do.
CUFACE_HD inline bool is_in(const SearchRegion& band, const Box& box, int height, float margin) {
  const float middle = box.y + box.h / 2, reach = margin * box.h;
  const auto top = static_cast<float>(band_border(height, band.index, band.count));
  const auto bottom = static_cast<float>(band_border(height, band.index + 1, band.count));
  return (band.index == 0 || middle >= top - reach) &&
         (band.index + 1 >= band.count || middle < bottom + reach);
}

/// So many of its heights outside a band a face is still given: one that trembles at a border is
/// found by one of two searches.
inline constexpr float kBandBorder = 1.0f / 16;

/// If a face's middle lies this many of its heights inside a band, the band's search finds it with
/// all windows of a whole search, on the next frame too.
inline constexpr float kWellInside = 0.25f;

/// The narrowest band of a picture that high in which a box lies well inside; the whole picture
/// where there is none.
CUFACE_HD inline SearchRegion band_around(const Box& box, int height) {
  constexpr std::int32_t kCounts[] = {kMostBands, 12, 8, 6, 4, 3, 2};
  for (const std::int32_t count : kCounts) {
    for (std::int32_t index = 0; index < count; ++index) {
      if (is_in({index, count}, box, height, -kWellInside)) return {index, count};
    }
  }
  return kWholePicture;
}

}  // namespace cuface
