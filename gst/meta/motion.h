// Motion as a kind of result, for our own elements (not installed). Its public side is
// gstcufacemotionmeta.h.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gst/meta/framemeta.h"
#include "gst/meta/gstcufacemotionmeta.h"
#include "kernels/common/geometry.h"

namespace cuface {

struct MotionCell {
  float share = 0;  ///< of its pixels that changed
  bool moves = false;
};

struct MotionRegion {
  std::uint64_t id = 0;  ///< from 1, lasting
  int cells = 0;         ///< that move in it
  Box box;               ///< pixels, edges
};

/// Where something moves on one frame, in pixels of a width x height picture. Filled by one thread,
/// then shared and never changed again.
struct MotionMap {
  int width = 0, height = 0;
  bool compared = false;       ///< else nothing is known of this frame, and all else is 0
  bool global_change = false;  ///< the picture changed as a whole: nothing moves
  bool in_event = false;
  float share = 0;  ///< of the pixels that changed
  int moving_cells = 0;
  int columns = 0, rows = 0;      ///< 0 where the picture was cropped or padded since
  std::vector<MotionCell> cells;  ///< row after row
  std::vector<MotionRegion> regions;
};
using MotionMapRef = std::shared_ptr<const MotionMap>;

}  // namespace cuface

namespace cuface::gst {

template <>
struct ResultKind<MotionMap> {
  static GType type() { return gst_cuface_motion_meta_api_get_type(); }
  static MotionMapRef scaled(MotionMapRef motion, int width, int height);
  /// Without cells, and without the regions outside.
  static MotionMapRef cropped(const MotionMap& motion, const PictureMap& map);
};

using MotionFound = FrameResult<MotionMap>;

}  // namespace cuface::gst
