// Our faces in the metas that everybody else reads.
#pragma once

#include <gst/video/video.h>

#include "gst/faces/firstseen.h"
#include "gst/meta/facemeta.h"
#include "kernels/faces/faces.h"

namespace cuface::gst {

/// Replaces the standard entries that our elements wrote before on this buffer by those of `faces`
/// (pixels of a frame of `info`, within its crop rectangle), and touches nobody else's. Needs a
/// writable buffer. `first_seen` belongs to the element and is brought up to date. Waits for faces
/// that are still on a GPU; an error where they cannot be read, and then changes nothing.
///
/// One GstVideoRegionOfInterestMeta a face: roi-type "face", id, the visible part of the box in
/// whole pixels, and a parameter "cuface" with id (guint64), confidence (float) and landmarks
/// (array of floats x0, y0, x1, y1, ..., normalised to the frame). With GStreamer 1.24 or later
/// also what analyticsmetas.h says.
Status publish_standard_metas(GstBuffer* buffer, const GstVideoInfo& info, const FaceResult& faces,
                              FirstSeen& first_seen);

/// The faces of others: every GstVideoRegionOfInterestMeta with roi-type "face" that our elements
/// did not write, as detections in the order of the metas, in pixels of the crop rectangle (width x
/// height). Null when there is none.
FaceListRef read_foreign_faces(GstBuffer* buffer, int width, int height);

}  // namespace cuface::gst
