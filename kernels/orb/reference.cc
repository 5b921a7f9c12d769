#include "kernels/orb/reference.h"

#include <algorithm>
#include <cmath>

#include "kernels/features/features.h"
#include "kernels/orb/pattern.h"

namespace cuface::orb {

HarrisSums harris_sums(ImageView<const std::uint8_t> level, int x, int y) {
  HarrisSums sums;
  constexpr int kHalf = kHarrisBlock / 2;
  for (int v = y - kHalf; v <= y + kHalf; ++v) {
    for (int u = x - kHalf; u <= x + kHalf; ++u) {
      const std::uint8_t *above = level.row(v - 1) + u, *here = level.row(v) + u,
                         *below = level.row(v + 1) + u;
      const int dx = 2 * (here[1] - here[-1]) + (above[1] - above[-1]) + (below[1] - below[-1]);
      const int dy = 2 * (below[0] - above[0]) + (below[-1] - above[-1]) + (below[1] - above[1]);
      sums.xx += dx * dx;
      sums.yy += dy * dy;
      sums.xy += dx * dy;
    }
  }
  return sums;
}

Centroid centroid(ImageView<const std::uint8_t> level, int x, int y) {
  Centroid sums;
  for (int v = -kRadius; v <= kRadius; ++v) {
    const int half = kHalfWidth[std::abs(v)];
    for (int u = -half; u <= half; ++u) {
      const int grey = level.at(x + u, y + v);
      sums.x += u * grey;
      sums.y += v * grey;
    }
  }
  return sums;
}

std::uint8_t blurred(ImageView<const std::uint8_t> level, int x, int y) {
  float columns[2 * kBlurReach + 1];
  for (int i = -kBlurReach; i <= kBlurReach; ++i) {
    const auto both = [&](int apart) {
      return static_cast<float>(level.at(x + i, y - apart) + level.at(x + i, y + apart));
    };
    columns[i + kBlurReach] =
        blur_of(static_cast<float>(level.at(x + i, y)), both(1), both(2), both(3));
  }
  const float* c = columns + kBlurReach;
  const float sum = blur_of(c[0], c[-1] + c[1], c[-2] + c[2], c[-3] + c[3]);
  return static_cast<std::uint8_t>(std::lrint(sum));
}

void descriptor(ImageView<const std::uint8_t> level, int x, int y, Roll roll, std::uint8_t* out) {
  std::fill_n(out, kBinaryBytes, std::uint8_t{0});
  const auto value = [&](int across, int down) {
    const auto u = static_cast<float>(across), v = static_cast<float>(down);
    return blurred(level, x + static_cast<int>(std::lrint(u * roll.cos - v * roll.sin)),
                   y + static_cast<int>(std::lrint(u * roll.sin + v * roll.cos)));
  };
  for (int i = 0; i < 8 * kBinaryBytes; ++i) {
    const Pair& pair = kPattern[i];
    if (value(pair.x0, pair.y0) < value(pair.x1, pair.y1))
      out[i / 8] = static_cast<std::uint8_t>(out[i / 8] | 1 << i % 8);
  }
}

}  // namespace cuface::orb
