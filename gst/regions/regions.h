// Writes boxes that elements found as GStreamer's own metas, for other plugins.
#pragma once

#include <gst/video/video.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "gst/base/settings.h"
#include "gst/meta/framemeta.h"
#include "gst/regions/firstseen.h"
#include "kernels/common/geometry.h"
#include "kernels/common/status.h"

namespace cuface::gst {

enum class StandardMetas { kAuto, kAlways, kNever };

GType standard_metas_type();

/// The property of all elements that write them.
template <typename S>
Setting standard_metas_setting() {
  return choice("standard-metas", "Standard metas",
                "Also writes results as GStreamer's own metas. Set always if other elements read "
                "them on a GPU's frames.",
                CUFACE_FIELD(S, standard_metas), standard_metas_type());
}

struct Region {
  Box box;               ///< pixels of the frame, within its crop rectangle
  std::uint64_t id = 0;  ///< 0 = none
  float confidence = 0;
  std::vector<float> landmarks{};  ///< x0, y0, x1, y1, ..., normalised to the frame
  std::vector<float> keypoints{};  ///< likewise
  Roll roll{};
  std::vector<float> confidences{};  ///< of each landmark; none where they are not known
};

/// A kind of result that is made of regions.
struct RegionKind {
  const char* label;  ///< the roi-type, and the type of the object detection
  GType result;       ///< of ResultKind
  /// The regions of a result of that kind, in its own pixels. Waits for a GPU.
  Result<std::vector<Region>> (*read)(const AnyResult&);
};

/// Replaces the standard entries that our elements wrote before on this buffer under the kind's
/// label by those of `result` (pixels of a frame of `info`, within its crop rectangle), and touches
/// nobody else's. Needs a writable buffer. `first_seen` belongs to the element and is brought up to
/// date. Waits for results that are still on a GPU. If one cannot be read it returns an error, and
/// changes nothing.
///
/// One GstVideoRegionOfInterestMeta a region: roi-type, id, the visible part of the box in whole
/// pixels, and parameters. "detection" is DL Streamer's: x_min, y_min, x_max, y_max (0 to 1 of the
/// frame), confidence and our roll (degrees, clockwise) as doubles, landmarks, keypoints and
/// landmark_confidences as arrays of floats where there are some. "object_id" has the id (int)
/// where there is one. "cuface", which marks the region as ours and is what earlier releases wrote,
/// has id (guint64), confidence (float) and landmarks. With GStreamer 1.24 or later also what
/// analytics.h says, with the ids that are lost since the frame before, or none of ours unless
/// `analytics`.
Status publish_regions(GstBuffer* buffer, const GstVideoInfo& info, const RegionKind& kind,
                       const AnyResult& result, FirstSeen& first_seen, bool analytics = true);

/// DL Streamer's parameter with the id of what a region follows.
inline constexpr const char* kObjectIdParam = "object_id";

/// Whether the label is one of these, which commas separate; spaces about them do not count.
bool is_one_of(std::string_view label, std::string_view labels);

/// Whether publish_regions() wrote it.
bool is_own_region(const GstVideoRegionOfInterestMeta& roi, const char* label);

}  // namespace cuface::gst
