// The pixels of a search's pyramid, on either processor: OpenCV 4.6's resize(INTER_LINEAR) of 8-bit
// grey by one factor.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"

namespace cuface::shape {

/// A picture's side times the factor.
CUFACE_HD inline int resized_side(int side, double factor) {
  return static_cast<int>(std::lrint(side * factor));
}

/// A pixel between two of the source, and how much of each it has.
struct Between {
  int first = 0, second = 0, weight_first = 0, weight_second = 0;

  /// Pixel `i` of a column or row that has `from` pixels, `scale` times as many.
  CUFACE_HD static Between of(int i, int from, double scale, bool is_column) {
    constexpr float kOne = 1 << 11;
    float fraction = static_cast<float>((i + 0.5) * scale - 0.5);
    int place = static_cast<int>(std::floor(fraction));
    fraction -= static_cast<float>(place);
    // Of columns beyond the outermost centres the outermost has all the weight; of rows both are
    // the outermost, so that the weights do not matter but for their rounding.
    if (is_column && place < 0) place = 0, fraction = 0;
    if (is_column && place >= from - 1) place = from - 1, fraction = 0;
    return {std::clamp(place, 0, from - 1), std::clamp(place + 1, 0, from - 1),
            static_cast<int>(std::lrintf((1.0f - fraction) * kOne)),
            static_cast<int>(std::lrintf(fraction * kOne))};
  }
};

/// What lies between two pixels of each of the row's two rows.
CUFACE_HD inline std::uint8_t between_pixels(const std::uint8_t* above, const std::uint8_t* below,
                                             const Between& column, const Between& row) {
  const int a =
      above[column.first] * column.weight_first + above[column.second] * column.weight_second;
  const int b =
      below[column.first] * column.weight_first + below[column.second] * column.weight_second;
  // Cut to 16 bits and back in three places, as OpenCV's vectors of 16 bits do.
  return static_cast<std::uint8_t>(
      (((row.weight_first * (a >> 4)) >> 16) + ((row.weight_second * (b >> 4)) >> 16) + 2) >> 2);
}

/// The mean of the four pixels that one is half of, or of those that are there.
CUFACE_HD inline std::uint8_t half_pixel(const ImageView<const std::uint8_t>& from, int x, int y) {
  const int rows = std::min(2, from.height - 2 * y), columns = std::min(2, from.width - 2 * x);
  int sum = 0;
  for (int v = 0; v < rows; ++v)
    for (int u = 0; u < columns; ++u) sum += from.at(2 * x + u, 2 * y + v);
  const int count = rows * columns;
  return static_cast<std::uint8_t>(
      count == 4 ? (sum + 2) >> 2
                 : std::lrintf(static_cast<float>(sum) / static_cast<float>(count)));
}

/// How a picture is resized by a factor.
enum class ResizeWay { kHalf, kCopy, kBetween };
CUFACE_HD inline ResizeWay way_of(const ImageView<const std::uint8_t>& from, double factor,
                                  int width, int height) {
  if (factor == 0.5) return ResizeWay::kHalf;
  return width == from.width && height == from.height ? ResizeWay::kCopy : ResizeWay::kBetween;
}

/// Whether a part of a picture can be searched: kMaxShapeWindow, and a pixel on the coarsest level.
CUFACE_HD inline bool is_searchable(int width, int height, double factor, double coarsest,
                                    int most) {
  return std::min(width, height) >= 1 && std::max(width, height) * factor <= most &&
         std::min(width, height) * coarsest >= 1;
}

}  // namespace cuface::shape
