// Parts of a picture at random places, as samples for training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/common/image.h"

namespace cuface::test {

/// `count` squares, one after the other, of a picture that is larger.
inline std::vector<std::uint8_t> crops(ImageView<const std::uint8_t> picture, int side,
                                       std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i < count; ++i) {
    const int left = static_cast<int>(random() % static_cast<unsigned>(picture.width - side));
    const int top = static_cast<int>(random() % static_cast<unsigned>(picture.height - side));
    for (int y = 0; y < side; ++y) {
      const std::uint8_t* const row = picture.row(top + y) + left;
      out.insert(out.end(), row, row + side);
    }
  }
  return out;
}

}  // namespace cuface::test
