// The tilted sums of a small picture by many lanes at once: those of a CUDA block, or the CPU's
// one.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/lanes.h"
#include "kernels/integral/integral.h"

namespace cuface {

/// The (width + 1) x (height + 1) words of integral_tilted(), modulo 2^32. Rows are `stride` words
/// apart, and their columns lie in `order`. If `pixels` are a part of a larger picture, each
/// rectangle in the part has the same sum by the words of either. What lies outside of a rectangle
/// cancels in its corners.
///
/// T(x,y) - T(x,y-1) is what lies on the two diagonals that lead up from the pixel (x-1,y-1). Along
/// each diagonal, and down the columns, a running sum makes all words; a lane takes one of these.
template <typename Lanes>
CUFACE_HD void integral_tilted(const Lanes& lanes, const ImageView<const std::uint8_t>& pixels,
                               ColumnOrder order, std::uint32_t* tilted, int stride) {
  const int width = pixels.width, height = pixels.height;
  const auto word = [&](int x, int y) -> std::uint32_t& {
    return tilted[y * stride + static_cast<int>(order.at(x))];
  };
  // What lies up and left of each word. Lanes that walk down together touch neighbours.
  lanes.each(width + height + 1, [&](int i) {
    std::uint32_t sum = 0;
    for (int y = 0; y <= height; ++y) {
      const int x = i - height + y;
      if (x < 0) continue;
      if (x > width) break;
      if (x > 0 && y > 0) sum += pixels.at(x - 1, y - 1);
      word(x, y) = sum;
    }
  });
  // What lies up and right, without the pixel that both diagonals have.
  lanes.each(width + height + 1, [&](int i) {
    std::uint32_t sum = 0;
    for (int y = 1; y <= height; ++y) {
      const int x = i - y;
      if (x > width) continue;
      if (x < 0) break;
      word(x, y) += sum;
      if (x > 0) sum += pixels.at(x - 1, y - 1);
    }
  });
  lanes.each(width + 1, [&](int x) {
    std::uint32_t sum = 0;
    for (int y = 1; y <= height; ++y) word(x, y) = sum += word(x, y);
  });
}

}  // namespace cuface
