// Is a culktrack downstream? Asked by cufacedetect, which then need not search every frame.
#pragma once

#include <gst/gst.h>

namespace cuface::gst {

/// Asks what is linked behind `src_pad`; the query passes queue, tee, videoconvert and whatever
/// else forwards custom queries.
bool tracker_downstream(GstPad* src_pad);

/// Whether the query is ours; then it is answered with yes.
bool answer_tracker_query(GstQuery* query);

}  // namespace cuface::gst
