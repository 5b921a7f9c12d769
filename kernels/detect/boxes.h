// The last steps of a search on single boxes, for the host and for a device alike.
#pragma once

#include <algorithm>

#include "kernels/cells/region.h"
#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/detect/detect.h"
#include "kernels/faces/faces.h"

namespace cuface {

/// Cuts the box to the searched picture, as OpenCV does last. False where nothing is left.
CUFACE_HD inline bool clip(Rect& r, int width, int height) {
  const int right = std::min(r.x + r.w, width), bottom = std::min(r.y + r.h, height);
  r.x = std::max(r.x, 0);
  r.y = std::max(r.y, 0);
  r.w = right - r.x;
  r.h = bottom - r.y;
  return r.w > 0 && r.h > 0;
}

/// A length in the searched picture, as one in the full picture, rounded half up. None is negative,
/// and none longer than a side of a picture.
CUFACE_HD inline int enlarged(int v, int full, int searched) {
  static_assert(kMaxPictureSide <= 1 << 14);  // so that 32 bits are enough
  return (2 * v * full + searched) / (2 * searched);
}

/// A box of the searched picture in the full one.
CUFACE_HD inline Rect enlarged(const Rect& r, int full_width, int full_height, int searched_width,
                               int searched_height) {
  return {enlarged(r.x, full_width, searched_width), enlarged(r.y, full_height, searched_height),
          enlarged(r.w, full_width, searched_width), enlarged(r.h, full_height, searched_height)};
}

CUFACE_HD inline Box as_box(const Rect& r) {
  return {static_cast<float>(r.x), static_cast<float>(r.y), static_cast<float>(r.w),
          static_cast<float>(r.h)};
}

/// Whether a search of a band gives a box of the searched picture.
CUFACE_HD inline bool belongs(const SearchRegion& band, const Rect& box, int searched_height) {
  return band.count <= 1 || is_in(band, as_box(box), searched_height, kBandBorder);
}

/// A face just found, field by field, so that padding is left alone.
CUFACE_HD inline void write_found(Face& face, const Rect& box, int neighbors, const Roll& roll) {
  face.id = 0;
  face.confidence = detection_confidence(neighbors);
  face.neighbors = neighbors;
  face.origin = Origin::kDetected;
  face.has_keypoints = false;
  face.age = 0;
  face.box = as_box(box);
  face.roll = roll;
  for (Point& point : face.keypoints) point = {};
}

}  // namespace cuface
