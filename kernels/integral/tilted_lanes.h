// The tilted sums of a picture by many lanes at once: those of a CUDA block or of a whole launch,
// or the CPU's one.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/lanes.h"
#include "kernels/integral/integral.h"

namespace cuface {

/// The (width + 1) x (height + 1) words of integral_tilted(), modulo 2^32, by three walks over all
/// of them, one behind the other. Rows are `stride` words apart, and their columns lie in `order`.
/// If `pixels` are a part of a larger picture, each rectangle in the part has the same sum by the
/// words of either. Parts outside of a rectangle cancel in its corners.
///
/// T(x,y) - T(x,y-1) is what lies on the two diagonals that lead up from the pixel (x-1,y-1). Along
/// each diagonal, and down the columns, a running sum makes all words; a lane takes one of these.
enum class TiltedWalk : std::int32_t { kDownRight, kDownLeft, kDown };

struct TiltedWalks {
  ImageView<const std::uint8_t> pixels;
  ColumnOrder order;
  std::uint32_t* tilted;
  int stride;

  CUFACE_HD std::uint32_t& word(int x, int y) const {
    return tilted[y * stride + static_cast<int>(order.at(x))];
  }
  CUFACE_HD int count(TiltedWalk walk) const {
    return pixels.width + 1 + (walk == TiltedWalk::kDown ? 0 : pixels.height);
  }
  CUFACE_HD void go(TiltedWalk walk, int i) const {
    if (walk == TiltedWalk::kDownRight) return down_right(i);
    return walk == TiltedWalk::kDownLeft ? down_left(i) : down(i);
  }

  /// What lies up and left of each word. Lanes that walk down together touch neighbours.
  CUFACE_HD void down_right(int i) const {
    std::uint32_t sum = 0;
    for (int y = 0; y <= pixels.height; ++y) {
      const int x = i - pixels.height + y;
      if (x < 0) continue;
      if (x > pixels.width) break;
      if (x > 0 && y > 0) sum += pixels.at(x - 1, y - 1);
      word(x, y) = sum;
    }
  }
  /// What lies up and right, without the pixel that both diagonals have.
  CUFACE_HD void down_left(int i) const {
    std::uint32_t sum = 0;
    for (int y = 1; y <= pixels.height; ++y) {
      const int x = i - y;
      if (x > pixels.width) continue;
      if (x < 0) break;
      word(x, y) += sum;
      if (x > 0) sum += pixels.at(x - 1, y - 1);
    }
  }
  CUFACE_HD void down(int x) const {
    std::uint32_t sum = 0;
    for (int y = 1; y <= pixels.height; ++y) word(x, y) = sum += word(x, y);
  }
};

template <typename Lanes>
CUFACE_HD void integral_tilted(const Lanes& lanes, const ImageView<const std::uint8_t>& pixels,
                               ColumnOrder order, std::uint32_t* tilted, int stride) {
  const TiltedWalks walks = {pixels, order, tilted, stride};
  lanes.each(walks.count(TiltedWalk::kDownRight), [&](int i) { walks.down_right(i); });
  lanes.each(walks.count(TiltedWalk::kDownLeft), [&](int i) { walks.down_left(i); });
  lanes.each(walks.count(TiltedWalk::kDown), [&](int i) { walks.down(i); });
}

}  // namespace cuface
