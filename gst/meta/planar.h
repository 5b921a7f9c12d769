// Flat objects as a kind of result, for our own elements (not installed). Their public side is
// gstcufaceplanarmeta.h.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gst/meta/framemeta.h"
#include "gst/meta/gstcufaceplanarmeta.h"
#include "gst/meta/matches.h"
#include "kernels/common/geometry.h"
#include "kernels/homography/homography.h"

namespace cuface {

/// A picture that is visible in the frame.
struct PlanarObject {
  std::int32_t picture = 0;
  std::uint64_t id = 0;
  bool found = false;        ///< by descriptors, on this frame; else followed
  std::int32_t inliers = 0;  ///< points that look like the picture
  Point corners[4];          ///< in pixels of the frame: top left, top right, bottom right and left
  Homography map;            ///< from pixels of the picture to those of the frame
};

/// The flat objects of one frame of width x height, in the order of the pictures. Filled by one
/// thread, then shared and never changed again.
struct FramePlanar {
  int width = 0, height = 0;
  std::vector<MatchedPicture> pictures;
  std::vector<PlanarObject> objects;
};
using FramePlanarRef = std::shared_ptr<const FramePlanar>;

/// The smallest box around the corners.
Box box_of(const PlanarObject& object);

}  // namespace cuface

namespace cuface::gst {

template <>
struct ResultKind<FramePlanar> {
  static GType type() { return gst_cuface_planar_meta_api_get_type(); }
  static FramePlanarRef scaled(FramePlanarRef planar, int width, int height);
  /// Without the objects outside.
  static FramePlanarRef cropped(const FramePlanar& planar, const PictureMap& map);
};

using PlanarFound = FrameResult<FramePlanar>;

}  // namespace cuface::gst
