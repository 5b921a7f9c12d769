// Made-up video whose motion is known, without an image library: textured squares ("faces") move
// over a textured background by sub-pixel similarities. Depends on its arguments alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"

namespace cuface::test {

/// A grey picture in host memory.
struct Grey {
  Grey(int w, int h, std::uint8_t value = 0)
      : width(w),
        height(h),
        pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), value) {}
  int width, height;
  std::vector<std::uint8_t> pixels;

  ImageView<std::uint8_t> view() { return {pixels.data(), width, height, width}; }
  ImageView<const std::uint8_t> view() const { return {pixels.data(), width, height, width}; }
};

/// Smooth texture at any real position: a sum of a few waves, different for each seed.
inline double texture_at(double x, double y, int seed) {
  const double s = 1.7 * seed;
  return 128 + 40 * std::sin(0.21 * x + 0.13 * y + s) +
         35 * std::sin(0.11 * x - 0.27 * y + 1 + 2.3 * s) +
         25 * std::sin(0.43 * x + 0.05 * y + 2 - 1.1 * s) +
         20 * std::sin(0.07 * x + 0.39 * y + 3 + 0.7 * s);
}

inline std::uint8_t grey_of(double v) {
  return static_cast<std::uint8_t>(std::lrint(std::clamp(v, 0.0, 255.0)));
}

/// The texture shifted by (shift_x, shift_y).
inline Grey textured(int width, int height, int seed, double shift_x = 0, double shift_y = 0) {
  Grey out(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      out.view().at(x, y) = grey_of(texture_at(x - shift_x, y - shift_y, seed));
    }
  }
  return out;
}

/// Where a face is: the centre of its box, its scale and turn.
struct Pose {
  double x, y, scale = 1, angle = 0;
};

struct MovingFaces {
  int width = 320, height = 240;
  int side = 80;  ///< of a face at scale 1
  int seed = 0;

  Box box_of(const Pose& p) const {
    const double s = side * p.scale;
    return {static_cast<float>(p.x - s / 2), static_cast<float>(p.y - s / 2), static_cast<float>(s),
            static_cast<float>(s)};
  }

  /// A position inside the face (-0.5..0.5 in both directions) on the picture.
  Point point_of(const Pose& p, double u, double v) const {
    const double a = side * p.scale * std::cos(p.angle), b = side * p.scale * std::sin(p.angle);
    return {static_cast<float>(p.x - 0.5 + a * u - b * v),
            static_cast<float>(p.y - 0.5 + b * u + a * v)};
  }

  Grey render(const std::vector<Pose>& poses) const {
    Grey out = textured(width, height, seed + 100);
    for (std::size_t i = 0; i < poses.size(); ++i) {
      const Pose& p = poses[i];
      const double a = std::cos(p.angle) / p.scale, b = std::sin(p.angle) / p.scale;
      const double reach = side * p.scale;
      const int x0 = std::max(0, static_cast<int>(p.x - reach));
      const int x1 = std::min(width, static_cast<int>(p.x + reach) + 1);
      const int y0 = std::max(0, static_cast<int>(p.y - reach));
      const int y1 = std::min(height, static_cast<int>(p.y + reach) + 1);
      for (int y = y0; y < y1; ++y) {
        for (int x = x0; x < x1; ++x) {
          const double dx = x + 0.5 - p.x, dy = y + 0.5 - p.y;
          const double u = a * dx + b * dy, v = a * dy - b * dx;
          if (std::abs(u) > side / 2.0 || std::abs(v) > side / 2.0) continue;
          out.view().at(x, y) = grey_of(texture_at(1.3 * u, 1.3 * v, seed + static_cast<int>(i)));
        }
      }
    }
    return out;
  }
};

}  // namespace cuface::test
