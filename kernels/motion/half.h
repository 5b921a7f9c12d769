// The picture as the method background sees it: a pixel for each 2 x 2, their mean. What is
// remembered, read and written is a quarter of that of all pixels, and a mean has half the noise.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"

namespace cuface::motion {

/// Of a side; where it is odd, the last row or column counts twice.
CUFACE_HD inline int half_size(int size) { return (size + 1) / 2; }

/// A pixel of the half picture: the mean, a half rounded up.
CUFACE_HD inline std::uint8_t half_at(const ImageView<const std::uint8_t>& picture, int x, int y) {
  const int left = 2 * x, right = left + 1 < picture.width ? left + 1 : left;
  const std::uint8_t* above = picture.row(2 * y);
  const std::uint8_t* below = 2 * y + 1 < picture.height ? picture.row(2 * y + 1) : above;
  return static_cast<std::uint8_t>((above[left] + above[right] + below[left] + below[right] + 2) >>
                                   2);
}

/// Each of 32 bits twice.
CUFACE_HD inline std::uint64_t doubled(std::uint32_t half) {
  if (half == 0) return 0;  // mostly
  std::uint64_t bits = half;
  bits = (bits | bits << 16) & 0x0000ffff0000ffff;
  bits = (bits | bits << 8) & 0x00ff00ff00ff00ff;
  bits = (bits | bits << 4) & 0x0f0f0f0f0f0f0f0f;
  bits = (bits | bits << 2) & 0x3333333333333333;
  bits = (bits | bits << 1) & 0x5555555555555555;
  return bits | bits << 1;
}

/// Word `i` of a row as wide as the picture, of a row of half of it.
CUFACE_HD inline std::uint64_t doubled_word(const std::uint64_t* half, int i) {
  return doubled(static_cast<std::uint32_t>(half[i / 2] >> (i % 2 * 32)));
}

/// half_at() of all pixels.
void halve(ImageView<const std::uint8_t> picture, ImageView<std::uint8_t> half);

}  // namespace cuface::motion
