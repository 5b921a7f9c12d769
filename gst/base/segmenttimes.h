// Times of a frame by its segment, for streams that may be without one.
#pragma once

#include <gst/gst.h>

namespace cuface::gst {

// GStreamer's own functions post a critical message where the segment does not count in time: data
// that filesrc reads comes in one of bytes, and a careless application pushes none at all.

/// The running time of a timestamp, GST_CLOCK_TIME_NONE without one or outside of the segment.
inline GstClockTime running_time_of(const GstSegment& segment, GstClockTime pts) {
  if (segment.format != GST_FORMAT_TIME) return GST_CLOCK_TIME_NONE;
  return gst_segment_to_running_time(&segment, GST_FORMAT_TIME, pts);
}

/// The same for the stream time.
inline GstClockTime stream_time_of(const GstSegment& segment, GstClockTime pts) {
  if (segment.format != GST_FORMAT_TIME) return GST_CLOCK_TIME_NONE;
  return gst_segment_to_stream_time(&segment, GST_FORMAT_TIME, pts);
}

}  // namespace cuface::gst
