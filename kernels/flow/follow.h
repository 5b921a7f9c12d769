// The steps of following one point, for the host and for a device alike. They differ only in how
// they read and sum the pixels of a window.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/flow/flow.h"

namespace cuface::flow_steps {

inline constexpr int kWeightBits = 14;  // of a bilinear weight
inline constexpr int kPatchBits = 5;    // fraction bits of a patch value
inline constexpr float kScale = 1.0f / (1 << 20);

using Picture = ImageView<const std::uint8_t>;

/// A position: whole pixel and the four bilinear weights, which sum to 2^14.
struct Sample {
  int x, y;
  std::int16_t w00, w01, w10, w11;
};

/// Round to nearest, ties to even, as OpenCV's cvRound.
CUFACE_HD inline int round_weight(float v) { return static_cast<int>(lrintf(v)); }

/// `p` is finite and its floor fits an int.
CUFACE_HD inline Sample sample_at(Point p) {
  const float fx = std::floor(p.x), fy = std::floor(p.y);
  const float a = p.x - fx, b = p.y - fy;
  constexpr float one = 1 << kWeightBits;
  const int w00 = round_weight((1.0f - a) * (1.0f - b) * one);
  const int w01 = round_weight(a * (1.0f - b) * one);
  const int w10 = round_weight((1.0f - a) * b * one);
  const int w11 = (1 << kWeightBits) - w00 - w01 - w10;
  return {static_cast<int>(fx),           static_cast<int>(fy),
          static_cast<std::int16_t>(w00), static_cast<std::int16_t>(w01),
          static_cast<std::int16_t>(w10), static_cast<std::int16_t>(w11)};
}

/// Bilinear sample of four neighbours, rounded down to `kWeightBits - shift` fraction bits.
template <int shift>
CUFACE_HD inline std::int16_t interpolate(std::int16_t p00, std::int16_t p01, std::int16_t p10,
                                          std::int16_t p11, const Sample& s) {
  const int sum = p00 * s.w00 + p01 * s.w01 + p10 * s.w10 + p11 * s.w11;
  return static_cast<std::int16_t>((sum + (1 << (shift - 1))) >> shift);
}

/// Scharr derivatives (3 10 3, not normalised) of the pixel at `p`, whose rows are `row` apart.
CUFACE_HD inline std::int16_t scharr_x(const std::uint8_t* p, int row) {
  const std::uint8_t *up = p - row, *down = p + row;
  return static_cast<std::int16_t>(3 * (up[1] - up[-1] + down[1] - down[-1]) + 10 * (p[1] - p[-1]));
}
CUFACE_HD inline std::int16_t scharr_y(const std::uint8_t* p, int row) {
  const std::uint8_t *up = p - row, *down = p + row;
  return static_cast<std::int16_t>(3 * (down[-1] - up[-1] + down[1] - up[1]) +
                                   10 * (down[0] - up[0]));
}

CUFACE_HD inline float half_window(int window) { return static_cast<float>(window - 1) * 0.5f; }

/// May a window whose top-left corner is `p` be read? It may hang out by its whole width.
CUFACE_HD_GENERIC
template <typename Level>
CUFACE_HD inline bool readable(Point p, int window, const Level& picture) {
  const auto out = static_cast<float>(-window);
  return p.x >= out && p.x < static_cast<float>(picture.width) && p.y >= out &&
         p.y < static_cast<float>(picture.height);
}

/// Sums of products of the derivatives over a window.
struct GradientSums {
  std::int64_t xx, xy, yy;
};

/// The right-hand side: sums of (next - prev) times the derivatives, over a window.
struct MismatchSums {
  std::int64_t x, y;
};

/// The spatial gradient matrix of a patch, and whether it can be inverted.
struct Gradient {
  float xx, xy, yy;
  float inverse_det;
  bool usable;
};

CUFACE_HD inline Gradient make_gradient(const GradientSums& sums, int window, float min_eigen) {
  Gradient g{static_cast<float>(sums.xx) * kScale, static_cast<float>(sums.xy) * kScale,
             static_cast<float>(sums.yy) * kScale, 0, false};
  const float det = g.xx * g.yy - g.xy * g.xy;
  const float diff = g.xx - g.yy;
  const float smaller = (g.yy + g.xx - std::sqrt(diff * diff + 4.0f * g.xy * g.xy)) /
                        static_cast<float>(2 * window * window);
  g.usable = smaller >= min_eigen && det >= 1.1920929e-7f;
  g.inverse_det = 1.0f / det;
  return g;
}

/// Newton steps on one level from the estimate `to`, which they improve; false when the window left
/// the picture. patch.compare(level, sample) gives MismatchSums.
CUFACE_HD_GENERIC
template <typename Patch, typename Level>
CUFACE_HD inline bool iterate(Patch& patch, Level& next, const Gradient& g,
                              const FlowConfig& config, Point& to) {
  const float half = half_window(config.window);
  const double epsilon2 = static_cast<double>(config.epsilon) * config.epsilon;
  Point corner{to.x - half, to.y - half}, previous{};
  for (int j = 0; j < config.max_iterations; ++j) {
    if (!readable(corner, config.window, next)) return false;
    const MismatchSums sums = patch.compare(next, sample_at(corner));
    const Point b{static_cast<float>(sums.x) * kScale, static_cast<float>(sums.y) * kScale};
    const Point step{(g.xy * b.y - g.yy * b.x) * g.inverse_det,
                     (g.xy * b.x - g.xx * b.y) * g.inverse_det};
    corner = {corner.x + step.x, corner.y + step.y};
    to = {corner.x + half, corner.y + half};
    const double dx = step.x, dy = step.y;
    if (dx * dx + dy * dy <= epsilon2) break;
    // Two opposite steps: the estimate swings around the solution, which is half a step back.
    if (j > 0 && std::abs(step.x + previous.x) < 0.01 && std::abs(step.y + previous.y) < 0.01) {
      to = {to.x - step.x * 0.5f, to.y - step.y * 0.5f};
      break;
    }
    previous = step;
  }
  return readable({to.x - half, to.y - half}, config.window, next);
}

/// One point through all levels, coarsest first. `Pyramid` has level(i). patch.take(level,
/// sample) takes the window there as the patch and gives GradientSums; pixels outside the picture
/// are reflected, but their derivatives are 0.
CUFACE_HD_GENERIC
template <typename Patch, typename Pyramid>
CUFACE_HD inline bool follow(Patch& patch, Pyramid& prev, Pyramid& next, int levels, Point from,
                             const FlowConfig& config, Point& to) {
  const float half = half_window(config.window);
  bool good = false;
  for (int level = levels - 1; level >= 0; --level) {
    const float scale = 1.0f / static_cast<float>(1 << level);
    const Point start{from.x * scale, from.y * scale};
    to = level == levels - 1 ? start : Point{to.x * 2.0f, to.y * 2.0f};
    auto&& a = prev.level(level);
    const Point corner{start.x - half, start.y - half};
    good = readable(corner, config.window, a);
    if (!good) continue;
    const Gradient g =
        make_gradient(patch.take(a, sample_at(corner)), config.window, config.min_eigen);
    good = g.usable;
    if (!good) continue;
    auto&& b = next.level(level);
    good = iterate(patch, b, g, config, to);
  }
  return good;
}

/// Levels that are used of two pyramids with `available` levels.
template <typename Pyramid>
int used_levels(Pyramid& pyramid, int available, const FlowConfig& config) {
  int levels = std::min(config.levels, available);
  while (levels > 1 && std::min(pyramid.level(levels - 1).width,
                                pyramid.level(levels - 1).height) <= config.window) {
    --levels;
  }
  return levels;
}

}  // namespace cuface::flow_steps
