// Where the samples of a mapped frame begin.
#pragma once

#include <gst/video/video.h>

namespace cuface::test {

/// GST_VIDEO_FRAME_COMP_DATA, but for V of P010 and its kin: GStreamer 1.22's table of formats has
/// it a byte behind U, where its conversions write it a word behind.
inline guint8* first_sample(const GstVideoFrame& frame, guint component) {
  auto* data = static_cast<guint8*>(GST_VIDEO_FRAME_COMP_DATA(&frame, component));
  const bool wrong = GST_VIDEO_FRAME_COMP_DEPTH(&frame, component) > 8 &&
                     GST_VIDEO_FRAME_COMP_POFFSET(&frame, component) % 2 != 0;
  return data + (wrong ? 1 : 0);
}

}  // namespace cuface::test
