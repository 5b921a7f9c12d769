// Where a face's search starts and looks, on either processor.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/texture/texture.h"

namespace cuface::shape {

inline constexpr float kFar = 1e6f;

/// A point that a search can start from. NaN is none.
CUFACE_HD inline bool is_near(const Point& p) {
  return std::abs(p.x) < kFar && std::abs(p.y) < kFar;
}

/// A box that a face can be looked for in.
CUFACE_HD inline bool is_usable(const Box& b) {
  return b.w > 0 && b.h > 0 && b.w < kFar && b.h < kFar && std::abs(b.x) < kFar &&
         std::abs(b.y) < kFar;
}

/// Where a point starts for the face in a box of any proportions, about its centre: half a pixel
/// right of and below that, as Stasm has it.
CUFACE_HD inline ShapePoint start_point(const Box& box, double start_scale, double mean_x,
                                        double mean_y) {
  const double x = box.x + box.w / 2.0, y = box.y + box.h / 2.0;
  return {box.w * start_scale * mean_x + x, box.h * start_scale * mean_y + y};
}

/// The part of a picture that reaches `reach` box sides from the box's centre, either way: whole
/// pixels, within the picture, empty where the box is beyond it.
CUFACE_HD inline Rect window_of(double reach, const Box& box, int width, int height) {
  const auto edge = [](double v, int size) {
    return static_cast<int>(std::lrint(std::clamp(v, 0.0, static_cast<double>(size))));
  };
  const double x = box.x + box.w / 2.0, y = box.y + box.h / 2.0;
  const double wide = reach * box.w, high = reach * box.h;
  const int left = edge(x - wide, width), top = edge(y - high, height);
  return {left, top, edge(x + wide, width) - left, edge(y + high, height) - top};
}

}  // namespace cuface::shape
