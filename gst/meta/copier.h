// Which element copied a frame, and whether it moved pixels; see docs/design/metadata.md.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <memory>
#include <string>

#include "gst/meta/framemeta.h"

namespace cuface::gst {

/// An element that has just made a copy of a frame.
struct Copier {
  std::string name;           ///< for a warning: name, type and the setting that moves pixels
  bool keeps_places = false;  ///< no pixel moved in relation to the others: the picture was scaled
  GstVideoInfo in, out;       ///< where keeps_places is true
};

/// The element behind `last_passed` whose buffer pool is `pool`, in this thread; null where there
/// is none. To be called in a meta's transform function: the element is then inside its chain
/// function.
std::unique_ptr<Copier> find_copier(const ElementRef& last_passed, GstBufferPool* pool);

/// The borders that a scaler which keeps the display aspect ratio adds, in pixels, with the
/// arithmetic of videoscale and cudascale (add-borders).
int possible_borders(const GstVideoInfo& in, const GstVideoInfo& out);

/// Rounding the size to whole pixels may leave one line over; more means a letterbox.
inline constexpr int kRoundingBorder = 1;

}  // namespace cuface::gst
