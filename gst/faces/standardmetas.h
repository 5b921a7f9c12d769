// Our faces in the metas that everybody else reads.
#pragma once

#include <gst/video/video.h>

#include <string_view>

#include "gst/meta/facemeta.h"
#include "gst/regions/regions.h"
#include "kernels/faces/faces.h"

namespace cuface::gst {

/// publish_regions() of faces, with the label "face".
Status publish_standard_metas(GstBuffer* buffer, const GstVideoInfo& info, const FaceResult& faces,
                              FirstSeen& first_seen, bool analytics = true);

/// The faces of others: what read_foreign() finds under these labels, as detections in pixels of
/// the crop rectangle (width x height). Null when there is none.
FaceListRef read_foreign_faces(GstBuffer* buffer, int width, int height, std::string_view labels);

/// give_ids() of these faces, behind publish_standard_metas(). Waits, and fails, as that.
Status give_ids_back(GstBuffer* buffer, const GstVideoInfo& info, std::string_view labels,
                     const FaceResult& faces);

}  // namespace cuface::gst
