// The witness, a meta beside the frame meta: in which picture the places of its results fit. Other
// elements scale or drop it by its tags (framemeta.h).
#pragma once

#include <gst/gst.h>

#include "gst/meta/framemeta.h"

namespace cuface::gst {

/// Where results are that an element appended last.
struct Witness {
  FrameGeometry picture;  ///< as it was when somebody spoke last
  PictureMap map;         ///< to it from the picture that the results were appended for
};

/// Adds a witness that says nothing yet, where there is none. Needs a writable buffer.
void ensure_witness(GstBuffer* buffer);

/// Says that the frame meta's positions fit a picture of this geometry. Needs a writable buffer.
void set_witness(GstBuffer* buffer, const FrameGeometry& geometry);

/// Null where nobody has said so, or somebody has dropped the witness.
const Witness* find_witness(GstBuffer* buffer);

/// From the picture that the newest results were appended for to the picture as it is `now`. None
/// where nobody has said where the one is in the other.
std::optional<PictureMap> map_to(GstBuffer* buffer, const FrameGeometry& now);

/// Gives a copy of the buffer the buffer's witness, the pixels having gone where `step` says. False
/// where `step` does not begin with the buffer's picture. `to` must be writable.
bool move_witness(GstBuffer* from, GstBuffer* to, const PictureMap& step);

}  // namespace cuface::gst
