// Is a culktrack downstream? Asked by cufacedetect, which then need not search every frame.
#pragma once

#include <gst/gst.h>

namespace cuface::gst {

/// Queries the elements behind `src_pad`. The query passes queue, tee, videoconvert and all
/// elements that forward custom queries.
bool tracker_downstream(GstPad* src_pad);

/// Whether the query is ours; then it is answered with yes.
bool answer_tracker_query(GstQuery* query);

}  // namespace cuface::gst
