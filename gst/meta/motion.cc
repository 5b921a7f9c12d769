// The library and the plugin both compile this file.
#include "gst/meta/motion.h"

#include <utility>

namespace cuface::gst {

MotionMapRef ResultKind<MotionMap>::scaled(MotionMapRef motion, int width, int height) {
  if (motion->width == width && motion->height == height) return motion;
  const auto map = PictureMap::scaling(motion->width, motion->height, width, height);
  auto scaled = std::make_shared<MotionMap>(*motion);
  scaled->width = width;
  scaled->height = height;
  for (MotionRegion& region : scaled->regions) region.box = map.box(region.box);
  return scaled;
}

MotionMapRef ResultKind<MotionMap>::cropped(const MotionMap& motion, const PictureMap& map) {
  auto cropped = std::make_shared<MotionMap>(motion);
  cropped->width = map.width;
  cropped->height = map.height;
  cropped->columns = cropped->rows = 0;
  cropped->cells.clear();
  cropped->regions.clear();
  for (MotionRegion region : motion.regions) {
    region.box = map.box(region.box);
    if (map.shows(region.box)) cropped->regions.push_back(region);
  }
  return cropped;
}

}  // namespace cuface::gst
