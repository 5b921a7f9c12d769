// Printed pictures of rectangles, laid into frames by homographies: for tests without OpenCV.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "kernels/homography/homography.h"
#include "kernels/planar/view.h"
#include "tests/moving_faces.h"

namespace cuface::test {

inline Grey printed(int width, int height, unsigned seed) {
  std::mt19937 random(seed);
  Grey out(width, height, 120);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int i = 0; i < 120; ++i) {
    const int left = below(width), top = below(height), w = 3 + below(18), h = 3 + below(18);
    const auto value = static_cast<std::uint8_t>(random());
    for (int y = top; y < std::min(top + h, height); ++y)
      std::fill_n(&out.view().at(left, y), std::min(w, width - left), value);
  }
  return out;
}

/// `map` is from pixels of the picture to those of the frame.
inline void lay(Grey& frame, const Grey& picture, const Homography& map) {
  const Homography back = planar::inverse(map);
  for (int y = 0; y < frame.height; ++y) {
    for (int x = 0; x < frame.width; ++x) {
      const Point at{static_cast<float>(x), static_cast<float>(y)};
      if (!(back.divisor(at) > 0)) continue;
      const Point p = back.apply(at);
      if (p.x >= 0 && p.y >= 0 && p.x < static_cast<float>(picture.width) &&
          p.y < static_cast<float>(picture.height))
        frame.view().at(x, y) = planar::drawn_pixel(picture.view(), 0, back, x, y);
    }
  }
}

/// Its first pixel at (x, y); turned by `angle` (radians), and nearer on the right by `tilt`.
inline Homography turned(double x, double y, double scale, double angle, double tilt) {
  const double c = scale * std::cos(angle), s = scale * std::sin(angle);
  return {{c, -s, x, s, c, y, tilt, 0, 1}};
}

}  // namespace cuface::test
