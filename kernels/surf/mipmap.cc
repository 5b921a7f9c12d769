#include "kernels/surf/mipmap.h"

#include <algorithm>
#include <bit>

namespace cuface::surf {

void Mipmap::Level::resize(int w, int h) {
  width = w;
  height = h;
  means.resize(static_cast<std::size_t>(w) * static_cast<std::size_t>(h));
}

void Mipmap::fill(ImageView<const std::uint8_t> grey) {
  const auto power = [](int side) {
    return static_cast<int>(std::bit_ceil(static_cast<unsigned>(side)));
  };
  const int width = power(grey.width), height = power(grey.height);
  const auto count =
      static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(std::max(width, height))));
  levels_.resize(count);
  levels_[0].resize(width, height);
  std::fill(levels_[0].means.begin(), levels_[0].means.end(), 0.f);
  for (int y = 0; y < grey.height; ++y)
    std::copy_n(grey.row(y), grey.width, &levels_[0].mean(0, y));
  for (std::size_t n = 1; n < count; ++n) {
    const Level& from = levels_[n - 1];
    Level& to = levels_[n];
    to.resize(std::max(1, from.width / 2), std::max(1, from.height / 2));
    // A side of one has no second pixel.
    const int across = from.width > 1 ? 1 : 0, down = from.height > 1 ? 1 : 0;
    for (int y = 0; y < to.height; ++y)
      for (int x = 0; x < to.width; ++x) {
        const int left = x << across, top = y << down;
        to.mean(x, y) =
            mean_of_four(from.mean(left, top), from.mean(left + across, top),
                         from.mean(left, top + down), from.mean(left + across, top + down));
      }
  }
}

}  // namespace cuface::surf
