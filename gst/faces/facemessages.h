// A face as element messages say it: plain values.
#pragma once

#include <gst/gst.h>

#include <cstddef>

#include "kernels/faces/faces.h"

namespace cuface::gst {

/// Adds the fields of face `i`: id (0 = none), x, y, width, height (pixels, edges), confidence,
/// origin, age, neighbors, and the arrays landmarks and keypoints (x0, y0, x1, ... in pixels) and
/// landmark-confidences where there are some.
void describe_face(GstStructure* structure, const FaceList& faces, std::size_t i);

}  // namespace cuface::gst
