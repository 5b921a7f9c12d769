// The pixels of patches, on either processor: integers of a picture whose border is replicated, and
// values between its pixels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"

namespace cuface::texture {

struct PatchPixels {
  ImageView<const std::uint8_t> picture;

  CUFACE_HD int at(int x, int y) const {
    return picture.at(std::clamp(x, 0, picture.width - 1), std::clamp(y, 0, picture.height - 1));
  }
};

// Of anything that has at(x, y).

/// Right and lower neighbour less the pixel twice.
template <typename Pixels>
CUFACE_HD int forward_difference(const Pixels& p, int x, int y) {
  return p.at(x + 1, y) + p.at(x, y + 1) - 2 * p.at(x, y);
}
/// Of the central differences' length.
template <typename Pixels>
CUFACE_HD int central_square(const Pixels& p, int x, int y) {
  const int dx = p.at(x + 1, y) - p.at(x - 1, y), dy = p.at(x, y + 1) - p.at(x, y - 1);
  return dx * dx + dy * dy;
}
/// Of the length of Sobel's gradient.
template <typename Pixels>
CUFACE_HD int sobel_square(const Pixels& p, int x, int y) {
  int dx = 0, dy = 0;
  for (int i = -1; i <= 1; ++i) {
    const int weight = i == 0 ? 2 : 1;
    dx += weight * (p.at(x + 1, y + i) - p.at(x - 1, y + i));
    dy += weight * (p.at(x + i, y + 1) - p.at(x + i, y - 1));
  }
  return dx * dx + dy * dy;
}
/// The largest of a picture.
inline int strongest_sobel_square(const PatchPixels& pixels) {
  int strongest = 0;
  for (int y = 0; y < pixels.picture.height; ++y)
    for (int x = 0; x < pixels.picture.width; ++x)
      strongest = std::max(strongest, sobel_square(pixels, x, y));
  return strongest;
}

/// Where a point lies between four pixels, in float.
struct BetweenPixels {
  int x = 0, y = 0;  ///< the left upper one
  float right = 0, below = 0;

  /// Points far from any picture count as nearer ones. Not `bilinear`: on the nearest pixel.
  CUFACE_HD static BetweenPixels of(double px, double py, bool bilinear) {
    constexpr double kFar = 1e6;
    px = std::clamp(px, -kFar, kFar);
    py = std::clamp(py, -kFar, kFar);
    if (!bilinear)
      return {static_cast<int>(std::lrint(px)), static_cast<int>(std::lrint(py)), 0, 0};
    const int x = static_cast<int>(std::floor(px)), y = static_cast<int>(std::floor(py));
    return {x, y, static_cast<float>(px - x), static_cast<float>(py - y)};
  }
  /// Of the pixels' values, row by row.
  CUFACE_HD float mix(float a, float b, float c, float d) const {
    const float first = (1 - right) * a + right * b;
    const float second = (1 - right) * c + right * d;
    return (1 - below) * first + below * second;
  }
};

/// What a number of a patch is made of.
enum class PixelGradient {
  kForward,  ///< right and lower neighbour less the pixel twice
  kLength,   ///< of the central differences
  kRight,    ///< right neighbour less the pixel
  kDown      ///< lower neighbour less the pixel
};

/// In the arithmetic of `Number`.
template <typename Number, typename Pixels>
CUFACE_HD Number pixel_gradient(const Pixels& p, PixelGradient kind, int x, int y) {
  switch (kind) {
    case PixelGradient::kForward:
      return static_cast<Number>(forward_difference(p, x, y));
    case PixelGradient::kRight:
      return static_cast<Number>(p.at(x + 1, y) - p.at(x, y));
    case PixelGradient::kDown:
      return static_cast<Number>(p.at(x, y + 1) - p.at(x, y));
    case PixelGradient::kLength:
      break;
  }
  return std::sqrt(static_cast<Number>(central_square(p, x, y)));
}

/// What an endless gradient counts in a patch of integers.
inline constexpr int kPatchOne = 16384;
/// What a gradient counts in it.
CUFACE_HD inline int counted_gradient(float g, float q) {
  return static_cast<int>(std::lrint(g / (std::abs(g) + q) * kPatchOne));
}

/// Of the length of Sobel's gradient at a pixel.
template <typename Pixels>
CUFACE_HD float edge_intensity(const Pixels& pixels, int x, int y) {
  return std::sqrt(static_cast<float>(sobel_square(pixels, x, y)));
}

/// What a place's cost is weighed by: `edge` less the edge's intensity there, of the picture's
/// strongest; `here` is between four pixels. Never below 0, so that a cost that has more rows is no
/// smaller.
CUFACE_HD inline float edge_weight(float edge, float here, float strongest) {
  if (!(strongest > 0)) return edge;
  const float weight = edge - here / strongest;
  return weight > 0 ? weight : 0;
}

}  // namespace cuface::texture
