// What our elements warn of when frames come.
#pragma once

#include "gst/base/facefilter.h"

namespace cuface::gst {

/// The video is interlaced. Once a start, and by the first of our elements only.
void warn_interlaced(GstCufaceFilter* self, const Frame& frame);

/// Positions that no longer fit the picture are not delivered; the user hears of it once a start,
/// with the name of the element to move.
void warn_positions_lost(GstCufaceFilter* self, const Frame& frame);

}  // namespace cuface::gst
