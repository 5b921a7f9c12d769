// The library and the plugin both compile this file.
#include "gst/meta/motion.h"

#include <utility>

namespace cuface::gst {

MotionMapRef ResultKind<MotionMap>::scaled(MotionMapRef motion, int width, int height) {
  if (motion->width == width && motion->height == height) return motion;
  const float sx = static_cast<float>(width) / static_cast<float>(motion->width);
  const float sy = static_cast<float>(height) / static_cast<float>(motion->height);
  auto scaled = std::make_shared<MotionMap>(*motion);
  scaled->width = width;
  scaled->height = height;
  for (MotionRegion& region : scaled->regions) region.box = scaled_box(region.box, sx, sy);
  return scaled;
}

MotionMapRef ResultKind<MotionMap>::cropped(const MotionMap& motion, const FrameGeometry& from,
                                            const FrameGeometry& to) {
  auto cropped = std::make_shared<MotionMap>(motion);
  cropped->width = to.width;
  cropped->height = to.height;
  cropped->columns = cropped->rows = 0;
  cropped->cells.clear();
  cropped->regions.clear();
  for (MotionRegion region : motion.regions) {
    region.box = moved_box(region.box, from, to);
    if (is_visible(region.box, to)) cropped->regions.push_back(region);
  }
  return cropped;
}

}  // namespace cuface::gst
