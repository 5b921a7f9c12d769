// Regions that other elements found, whatever they are: read, and given our ids.
#pragma once

#include <gst/video/video.h>

#include <span>
#include <string_view>
#include <vector>

#include "gst/meta/framemeta.h"
#include "gst/regions/regions.h"

namespace cuface::gst {

/// Most that are read of one frame: as many as culktrack follows.
inline constexpr std::size_t kMostForeign = 64;

/// Boxes of other elements with one of these labels, which commas separate: regions of interest by
/// their roi-type, and with GStreamer 1.24 object detections by their type. In pixels within
/// `geometry`, first the regions of interest, each in the order of the metas, without ids.
///
/// A region with DL Streamer's parameter "detection" has its confidence, and its place where that
/// rounds to the region's; another has confidence 1. A confidence that is NaN counts as 0. From
/// GStreamer 1.26 on a detection may be turned.
///
/// Boxes that are empty, outside the frame, or more than twice its size are left out. Two detectors
/// may find one object, and a detector may write both metas. So if two boxes of similar size
/// contain each other's centre, only the more confident one stays, or the first of equals. If there
/// are more than kMostForeign boxes, the most confident stay.
std::vector<Region> read_foreign(GstBuffer* buffer, const FrameGeometry& geometry,
                                 std::string_view labels);

/// Gives the boxes that read_foreign() reads, and those it leaves out for them, the id of the
/// region that is the same object: a region of interest as DL Streamer's parameter "object_id", an
/// object detection by RELATE_TO the tracking metadata that publish_regions() wrote, which relates
/// back. A region's own `id` stays: it is the name by which others refer to it. Needs a writable
/// buffer, and comes behind publish_regions().
void give_ids(GstBuffer* buffer, const FrameGeometry& geometry, std::string_view labels,
              std::span<const Region> regions);

}  // namespace cuface::gst
