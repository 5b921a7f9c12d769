// Our faces as GstAnalytics metadata (GStreamer 1.24 and later; before, nothing happens).
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <vector>

#include "kernels/common/geometry.h"

namespace cuface::gst {

/// A face as others read it.
struct PlainFace {
  Rect box;              ///< whole pixels of the picture in memory
  std::uint64_t id = 0;  ///< 0 = none
  float confidence = 0;
  GstClockTime first_seen = GST_CLOCK_TIME_NONE;  ///< of this id: FirstSeen
};

/// Replaces what our elements put before into the buffer's GstAnalyticsRelationMeta. Needs a
/// writable buffer.
///
/// One object detection of type "face" a face, and where it has an id one tracking metadata with
/// it, first_seen and `now`; each RELATE_TO the other. A metadata of our own type "cuface" CONTAINs
/// them all, which is how they are known as ours later.
///
/// Metadata of others stay, with the relations between them; their ids (which are places in the
/// meta) change where ours came before them.
///
/// An entry cannot be changed, so the meta is made anew: but not where ours are there already and
/// `changed` says that they still hold.
#ifdef CUFACE_HAVE_ANALYTICS
void publish_analytics(GstBuffer* buffer, const std::vector<PlainFace>& faces, GstClockTime now,
                       bool changed);
#else
inline void publish_analytics(GstBuffer*, const std::vector<PlainFace>&, GstClockTime, bool) {}
#endif

}  // namespace cuface::gst
