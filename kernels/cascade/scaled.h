// Windows that are scaled over one set of integrals [S0.15]: where they lie, their norm and their
// features, for the host and for a device alike.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/cascade/bind.h"
#include "kernels/cascade/cascade.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/levels/levels.h"

namespace cuface {

/// The windows of one scale, in pixels of the picture: `across` in a row, `down` rows of them.
struct ScaledWindows {
  float scale = 1;
  std::int32_t width = 0, height = 0;  ///< of a window
  std::int32_t step = 1;               ///< from one window to the next
  std::int32_t across = 0, down = 0;

  CUFACE_HD long long count() const { return static_cast<long long>(across) * down; }
};

/// `step` as DetectConfig::step: 0 = max(2, scale), rounded.
inline ScaledWindows scaled_windows(const LevelQuery& query, float scale, int step) {
  ScaledWindows w;
  w.scale = scale;
  w.width = scaled_side(query.window_width, scale);
  w.height = scaled_side(query.window_height, scale);
  w.step = step > 0 ? step : std::max(2, static_cast<int>(std::lrintf(scale)));
  const auto along = [&](int picture, int window) {
    return picture < window ? 0 : (picture - window) / w.step + 1;
  };
  w.across = along(query.picture_width, w.width);
  w.down = along(query.picture_height, w.height);
  return w;
}

template <typename T>
CUFACE_HD T sum_in(const ImageView<const T>& integral, int x, int y, int w, int h) {
  return integral.at(x, y) - integral.at(x + w, y) - integral.at(x, y + h) +
         integral.at(x + w, y + h);
}

/// 1 / sqrt(n * squares - sum^2) of the whole window at (x,y), in double, rounded to float; 0 where
/// it is flat. The integers are exact: 2^24 pixels at most.
CUFACE_HD inline float scaled_inverse_norm(const ScaledWindows& windows, int x, int y,
                                           const ImageView<const std::uint32_t>& sums,
                                           const ImageView<const std::uint64_t>& squared) {
  const int w = windows.width, h = windows.height;
  const std::uint64_t sum = sum_in(sums, x, y, w, h);
  const std::uint64_t n =
      static_cast<std::uint64_t>(w) * static_cast<std::uint64_t>(h) * sum_in(squared, x, y, w, h);
  return n > sum * sum ? static_cast<float>(1.0 / std::sqrt(static_cast<double>(n - sum * sum)))
                       : 0.0f;
}

/// A feature in a window of width x height. Edges are rounded to whole pixels, so rectangles that
/// share an edge stay adjacent. The first weight is derived again, so a flat picture gives 0.
CUFACE_HD inline BoundFeature bind_scaled_feature(const HaarFeature& feature, float scale,
                                                  int width, int height, const SumLayout& layout) {
  const auto scaled = [scale](int v) { return scaled_side(v, scale); };
  BoundFeature out = {};
  int area[3] = {};
  for (int i = 0; i < feature.rect_count; ++i) {
    const HaarRect& r = feature.rects[i];
    if (feature.tilted) {
      // Rounding may push a corner out of the window by a pixel: the sides give way.
      const int x = std::min(scaled(r.x), width), y = scaled(r.y);
      const int w = std::min(std::min(scaled(r.w), width - x), height - y);
      const int h = std::min(std::min(scaled(r.h), x), height - y - w);
      bind_tilted(x, y, w, h, layout, out.corner[i]);
      area[i] = w * h;
    } else {
      const int left = scaled(r.x), right = scaled(r.x + r.w);
      const int top = scaled(r.y), bottom = scaled(r.y + r.h);
      bind_upright(left, top, right, bottom, layout, out.corner[i]);
      area[i] = (right - left) * (bottom - top);
    }
    out.weight[i] = r.weight;
  }
  const float rest =
      out.weight[1] * static_cast<float>(area[1]) + out.weight[2] * static_cast<float>(area[2]);
  out.weight[0] = area[0] > 0 ? -rest / static_cast<float>(area[0]) : 0.0f;
  return out;
}

}  // namespace cuface
