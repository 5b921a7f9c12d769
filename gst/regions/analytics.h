// Our regions as GstAnalytics metadata (GStreamer 1.24 and later; before, nothing happens).
#pragma once

#include <gst/gst.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "kernels/common/geometry.h"

namespace cuface::gst {

/// Points of a region, as others read them.
struct PlainPoints {
  std::vector<gint> at{};            ///< x0, y0, x1, y1, ...: whole pixels of the picture in memory
  std::vector<float> confidences{};  ///< of each point; none where they are not known

  std::size_t count() const { return at.size() / 2; }
};

/// A region as others read it.
struct PlainRegion {
  Rect box;              ///< whole pixels of the picture in memory
  std::uint64_t id = 0;  ///< 0 = none
  float confidence = 0;
  GstClockTime first_seen = GST_CLOCK_TIME_NONE;  ///< of this id: FirstSeen
  Roll roll{};
  PlainPoints keypoints{}, landmarks{};
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

/// What of the regions differs from what our elements put before into the buffer's metas.
enum class Changed { kNothing, kLandmarks, kRegions };

/// Replaces what our elements put before under this label into the buffer's
/// GstAnalyticsRelationMeta. Needs a writable buffer.
///
/// One object detection of the label's type a region (from 1.26 on an oriented one where it is
/// turned), and where it has an id one tracking metadata
/// with it, first_seen and `now`; each RELATE_TO the other. One tracking metadata that is lost for
/// each of `lost`. A metadata of our own type "cuface", which holds the label, CONTAINs them all:
/// so they are known as ours later. From 1.30 on the detection of a region with points CONTAINs
/// their groups: "face-5-kp" for a network's 5 keypoints of the label "face", "face-68-kp" for 68
/// landmarks, and "face-landmarks-5-kp" for 5 landmarks. Confidences that are not known are 1, as
/// GStreamer's are then. Of many regions only the first have landmarks: see kMostEntries.
///
/// Metadata of others stay, with the relations between them; their ids (which are places in the
/// meta) change where ours came before them.
///
/// An entry cannot be changed, so ours are made anew: but not where they are there already and
/// `changed` says that they still hold. Where they lack the landmarks alone these are added, so
/// what others related to our entries stays.
///
/// The relations of n entries are n x n bytes, and each copy of the buffer visits them all. With
/// landmarks there are at most so many entries: 7 faces of 68 landmarks.
inline constexpr std::size_t kMostEntries = 512;
#ifdef CUFACE_HAVE_KEYPOINTS
inline constexpr bool kHaveKeypoints = true;
#else
inline constexpr bool kHaveKeypoints = false;
#endif
#ifdef CUFACE_HAVE_ANALYTICS
inline constexpr bool kHaveAnalytics = true;
void publish_analytics(GstBuffer* buffer, const char* label,
                       const std::vector<PlainRegion>& regions, const std::vector<LostRegion>& lost,
                       GstClockTime now, Changed changed);
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
                              const std::vector<LostRegion>&, GstClockTime, Changed) {}
inline std::vector<ForeignDetection> foreign_detections(GstBuffer*, std::string_view) { return {}; }
inline void relate_tracks(GstBuffer*, std::string_view,
                          const std::function<std::uint64_t(const Rect&)>&) {}
#endif

}  // namespace cuface::gst
