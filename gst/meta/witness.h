// The witness, a meta beside the frame meta: in which picture the places of its results fit. Other
// elements scale or drop it by its tags (framemeta.h).
#pragma once

#include <gst/gst.h>

#include "gst/meta/framemeta.h"

namespace cuface::gst {

/// Adds a witness that says nothing yet, where there is none. Needs a writable buffer.
void ensure_witness(GstBuffer* buffer);

/// Says that the frame meta's positions fit a picture of this geometry. Needs a writable buffer.
void set_witness(GstBuffer* buffer, const FrameGeometry& geometry);

/// The picture that the positions fit, null where nobody has said so or somebody has dropped the
/// witness.
const FrameGeometry* witness_geometry(GstBuffer* buffer);

}  // namespace cuface::gst
