// The tagged twin of the face meta; see facemeta.h.
#pragma once

#include <gst/gst.h>

#include "gst/meta/facemeta.h"

namespace cuface::gst {

/// Says that the face meta's positions fit a picture of this geometry. Needs a writable buffer.
void set_witness(GstBuffer* buffer, const FrameGeometry& geometry);

bool has_witness(GstBuffer* buffer);

/// Whether the witness is still there and speaks of this picture; width and height may be 0, not
/// known.
bool witness_agrees(GstBuffer* buffer, int width, int height);

}  // namespace cuface::gst
