#include "kernels/surf/mipmap.h"

#include <algorithm>
#include <bit>
#include <cmath>

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
        to.mean(x, y) = ((from.mean(left, top) + from.mean(left + across, top)) +
                         (from.mean(left, top + down) + from.mean(left + across, top + down))) *
                        0.25f;
      }
  }
}

float Mipmap::between(std::size_t level, float x, float y) const {
  const Level& means = levels_[level];
  const float side = std::ldexp(1.f, -static_cast<int>(level));
  const float u = (x + 0.5f) * side - 0.5f, v = (y + 0.5f) * side - 0.5f;
  const float left = std::floor(u), top = std::floor(v), a = u - left, b = v - top;
  const auto column = [&](float at) {
    return static_cast<int>(std::clamp(at, 0.f, static_cast<float>(means.width - 1)));
  };
  const auto row = [&](float at) {
    return static_cast<int>(std::clamp(at, 0.f, static_cast<float>(means.height - 1)));
  };
  const int x0 = column(left), x1 = column(left + 1), y0 = row(top), y1 = row(top + 1);
  return (means.mean(x0, y0) * (1 - a) + means.mean(x1, y0) * a) * (1 - b) +
         (means.mean(x0, y1) * (1 - a) + means.mean(x1, y1) * a) * b;
}

float Mipmap::at(float x, float y, float level) const {
  const auto last = static_cast<float>(levels_.size() - 1);
  const float lower = std::min(std::floor(level), last), upper = std::min(lower + 1, last);
  const float share = std::min(level, last) - lower;
  return between(static_cast<std::size_t>(lower), x, y) * (1 - share) +
         between(static_cast<std::size_t>(upper), x, y) * share;
}

}  // namespace cuface::surf
