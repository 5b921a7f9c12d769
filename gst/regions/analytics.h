// Our regions as GstAnalytics metadata (GStreamer 1.24 and later; before, nothing happens).
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "kernels/common/geometry.h"

namespace cuface::gst {

/// A region as others read it.
struct PlainRegion {
  Rect box;              ///< whole pixels of the picture in memory
  std::uint64_t id = 0;  ///< 0 = none
  float confidence = 0;
  GstClockTime first_seen = GST_CLOCK_TIME_NONE;  ///< of this id: FirstSeen
  Roll roll{};
  std::vector<gint> keypoints{};  ///< x0, y0, x1, y1, ...: whole pixels of the picture in memory
};

/// One that was there on the frame before and is no longer.
struct LostRegion {
  std::uint64_t id = 0;
  GstClockTime first_seen = GST_CLOCK_TIME_NONE, last_seen = GST_CLOCK_TIME_NONE;
};

/// An object detection of somebody else.
struct ForeignDetection {
  guint entry = 0;  ///< its place in the buffer's meta
  Rect box;         ///< whole pixels of the picture in memory
  float confidence = 0;
  Roll roll{};
};

/// Replaces what our elements put before under this label into the buffer's
/// GstAnalyticsRelationMeta. Needs a writable buffer.
///
/// One object detection of the label's type a region (from 1.26 on an oriented one where it is
/// turned), and where it has an id one tracking metadata
/// with it, first_seen and `now`; each RELATE_TO the other. One tracking metadata that is lost for
/// each of `lost`. A metadata of our own type "cuface", which holds the label, CONTAINs them all:
/// so they are known as ours later. From 1.30 on the detection of a region with keypoints CONTAINs
/// their group, "face-5-kp" for 5 of the label "face".
///
/// Metadata of others stay, with the relations between them; their ids (which are places in the
/// meta) change where ours came before them.
///
/// An entry cannot be changed, so the meta is made anew: but not where ours are there already and
/// `changed` says that they still hold.
#ifdef CUFACE_HAVE_ANALYTICS
inline constexpr bool kHaveAnalytics = true;
void publish_analytics(GstBuffer* buffer, const char* label,
                       const std::vector<PlainRegion>& regions, const std::vector<LostRegion>& lost,
                       GstClockTime now, bool changed);
/// The object detections of these labels (is_one_of()) that our elements did not put there, in the
/// order of the metadata.
std::vector<ForeignDetection> foreign_detections(GstBuffer* buffer, std::string_view labels);
/// Relates each of them RELATE_TO our tracking metadata of the id that id_of() gives for its box,
/// and back; nothing for 0, or where there is none.
void relate_tracks(GstBuffer* buffer, std::string_view labels,
                   const std::function<std::uint64_t(const Rect&)>& id_of);
#else
inline constexpr bool kHaveAnalytics = false;
inline void publish_analytics(GstBuffer*, const char*, const std::vector<PlainRegion>&,
                              const std::vector<LostRegion>&, GstClockTime, bool) {}
inline std::vector<ForeignDetection> foreign_detections(GstBuffer*, std::string_view) { return {}; }
inline void relate_tracks(GstBuffer*, std::string_view,
                          const std::function<std::uint64_t(const Rect&)>&) {}
#endif

}  // namespace cuface::gst
