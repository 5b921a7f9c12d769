// The library and the plugin both compile this file.
#include "gst/meta/planar.h"

#include <algorithm>
#include <utility>

namespace cuface {

Box box_of(const PlanarObject& object) {
  float left = object.corners[0].x, top = object.corners[0].y, right = left, bottom = top;
  for (const Point& p : object.corners) {
    left = std::min(left, p.x);
    top = std::min(top, p.y);
    right = std::max(right, p.x);
    bottom = std::max(bottom, p.y);
  }
  // Corners are points, boxes are edges.
  return {left + 0.5f, top + 0.5f, right - left, bottom - top};
}

namespace gst {
namespace {

/// q becomes (q * scale + shift).
void move(PlanarObject& object, double scale_x, double scale_y, double shift_x, double shift_y) {
  for (Point& p : object.corners)
    p = {static_cast<float>(p.x * scale_x + shift_x), static_cast<float>(p.y * scale_y + shift_y)};
  double* m = object.map.m;
  for (int k = 0; k < 3; ++k) {
    m[k] = m[k] * scale_x + m[6 + k] * shift_x;
    m[3 + k] = m[3 + k] * scale_y + m[6 + k] * shift_y;
  }
}

}  // namespace

FramePlanarRef ResultKind<FramePlanar>::scaled(FramePlanarRef planar, int width, int height) {
  if (planar->width == width && planar->height == height) return planar;
  const double sx = static_cast<double>(width) / planar->width;
  const double sy = static_cast<double>(height) / planar->height;
  auto scaled = std::make_shared<FramePlanar>(*planar);
  scaled->width = width;
  scaled->height = height;
  for (PlanarObject& object : scaled->objects)
    move(object, sx, sy, (sx - 1) / 2, (sy - 1) / 2);  // points count from pixel centres
  return scaled;
}

FramePlanarRef ResultKind<FramePlanar>::cropped(const FramePlanar& planar, const PictureMap& map) {
  auto cropped = std::make_shared<FramePlanar>();
  cropped->width = map.width;
  cropped->height = map.height;
  cropped->pictures = planar.pictures;
  for (PlanarObject object : planar.objects) {
    const double sx = map.sx, sy = map.sy;
    move(object, sx, sy, (sx - 1) / 2 + map.dx, (sy - 1) / 2 + map.dy);
    if (map.shows(box_of(object))) cropped->objects.push_back(object);
  }
  return cropped;
}

}  // namespace gst
}  // namespace cuface
