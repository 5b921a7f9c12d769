// What patches of either arithmetic are made of: integers of a picture whose rim goes on for ever.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/common/image.h"

namespace cuface::texture {

struct PatchPixels {
  ImageView<const std::uint8_t> picture;

  int at(int x, int y) const {
    return picture.at(std::clamp(x, 0, picture.width - 1), std::clamp(y, 0, picture.height - 1));
  }
  /// Right and lower neighbour less the pixel twice.
  int forward(int x, int y) const { return at(x + 1, y) + at(x, y + 1) - 2 * at(x, y); }
  /// Of the central differences' length.
  int square(int x, int y) const {
    const int dx = at(x + 1, y) - at(x - 1, y), dy = at(x, y + 1) - at(x, y - 1);
    return dx * dx + dy * dy;
  }
  /// Of the length of Sobel's gradient.
  int sobel_square(int x, int y) const {
    int dx = 0, dy = 0;
    for (int i = -1; i <= 1; ++i) {
      const int weight = i == 0 ? 2 : 1;
      dx += weight * (at(x + 1, y + i) - at(x - 1, y + i));
      dy += weight * (at(x + i, y + 1) - at(x + i, y - 1));
    }
    return dx * dx + dy * dy;
  }
  /// The largest of the picture.
  int strongest_sobel_square() const {
    int strongest = 0;
    for (int y = 0; y < picture.height; ++y)
      for (int x = 0; x < picture.width; ++x) strongest = std::max(strongest, sobel_square(x, y));
    return strongest;
  }
};

}  // namespace cuface::texture
