#include "gst/regions/regions.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "gst/base/structures.h"
#include "gst/regions/analytics.h"
#include "kernels/common/try.h"

namespace cuface::gst {
namespace {

/// Our entries carry this parameter, so that they can be told from others'.
constexpr const char* kOwnParam = "cuface";
constexpr const char* kDetectionParam = "detection";
constexpr const char *kLandmarks = "landmarks", *kKeypoints = "keypoints";
constexpr const char* kConfidences = "landmark_confidences";

double roll_degrees(const Roll& roll) {
  return std::atan2(static_cast<double>(roll.sin), static_cast<double>(roll.cos)) * 180 /
         std::numbers::pi;
}

bool has_label(const GstVideoRegionOfInterestMeta& roi, const char* label) {
  return roi.roi_type == g_quark_from_string(label);
}

/// Whole pixels of the picture in memory, inside it; empty where nothing of the box is.
Rect visible_part(const Box& box, const FrameGeometry& geometry) {
  if (!std::isfinite(box.x + box.w) || !std::isfinite(box.y + box.h)) return {};
  const auto clip = [](float v, int size) {
    return static_cast<int>(std::lrint(std::clamp(v, 0.0f, static_cast<float>(size))));
  };
  const int left = clip(box.x, geometry.width), right = clip(box.x + box.w, geometry.width);
  const int top = clip(box.y, geometry.height), bottom = clip(box.y + box.h, geometry.height);
  return {geometry.crop_x + left, geometry.crop_y + top, right - left, bottom - top};
}

/// The pixels of the picture in memory in which these points lie.
std::vector<gint> whole_pixels(const std::vector<float>& normalised, const FrameGeometry& g) {
  std::vector<gint> pixels;
  for (std::size_t i = 0; i + 1 < normalised.size(); i += 2) {
    const auto pixel = [](float fraction, int size, int offset) {
      constexpr float kFar = 1 << 20;  // a network may point anywhere, or at NaN: -kFar then
      const float at = std::max(-kFar, std::min(fraction * static_cast<float>(size), kFar));
      return offset + static_cast<gint>(std::floor(at));
    };
    pixels.push_back(pixel(normalised[i], g.width, g.crop_x));
    pixels.push_back(pixel(normalised[i + 1], g.height, g.crop_y));
  }
  return pixels;
}

Rect box_of(const GstVideoRegionOfInterestMeta& roi) {
  return {static_cast<int>(roi.x), static_cast<int>(roi.y), static_cast<int>(roi.w),
          static_cast<int>(roi.h)};
}

/// More than half of what both cover together is covered by both.
bool is_same_place(const Rect& a, const Rect& b) {
  const std::int64_t w = std::min(a.x + a.w, b.x + b.w) - std::max(a.x, b.x);
  const std::int64_t h = std::min(a.y + a.h, b.y + b.h) - std::max(a.y, b.y);
  const std::int64_t areas = std::int64_t{a.w} * a.h + std::int64_t{b.w} * b.h;
  return w > 0 && h > 0 && 3 * w * h > areas;
}

/// GStreamer's scalers, and from 1.28 on what crops, keep a region but drop its parameters, and so
/// our mark. Such a region is known by its id and place among those we found before.
Result<bool> was_moved(const GstVideoRegionOfInterestMeta& roi, const RegionKind& kind,
                       const FrameRecord& record, const FrameGeometry& geometry) {
  for (const FrameRecord::Entry& entry : record.results) {
    if (entry.kind != kind.result || !entry.fits) continue;
    const AnyResult& result = entry.result;
    // Without a result since, sizes tell of a scaler.
    const PictureMap map = entry.map.moves() ? entry.map
                                             : PictureMap::scaling(result.width, result.height,
                                                                   geometry.width, geometry.height);
    if (!map.moves()) continue;
    CUFACE_TAKE(regions, kind.read(result));
    for (const Region& region : regions) {
      const Box box = map.box(region.box);
      if (static_cast<gint>(region.id) == roi.id &&
          is_same_place(visible_part(box, geometry), box_of(roi)))
        return true;
    }
  }
  return false;
}

Result<std::vector<GstVideoRegionOfInterestMeta*>> own_regions(GstBuffer* buffer,
                                                               const RegionKind& kind,
                                                               const FrameGeometry& geometry) {
  std::vector<GstVideoRegionOfInterestMeta*> regions;
  const FrameRecord* record = get_frame_record(buffer);
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    if (!has_label(*roi, kind.label)) continue;
    bool own = is_own_region(*roi, kind.label);
    if (record && !roi->params) CUFACE_TRY(take(was_moved(*roi, kind, *record, geometry), own));
    if (own) regions.push_back(roi);
  }
  return regions;
}

bool has_floats(const GstStructure* params, const char* field, const std::vector<float>& values) {
  const GValue* array = gst_structure_get_value(params, field);
  if ((array ? gst_value_array_get_size(array) : 0) != values.size()) return false;
  for (guint i = 0; i < values.size(); ++i)
    if (g_value_get_float(gst_value_array_get_value(array, i)) != values[i]) return false;
  return true;
}

GstStructure* get_param(GstVideoRegionOfInterestMeta& roi, const char* name) {
  if (GstStructure* params = gst_video_region_of_interest_meta_get_param(&roi, name)) return params;
  GstStructure* params = gst_structure_new_empty(name);
  gst_video_region_of_interest_meta_add_param(&roi, params);
  return params;
}

/// What DL Streamer's elements write and read: "detection", and "object_id" where there is one.
Changed write_detection(GstVideoRegionOfInterestMeta& roi, const Region& region,
                        const FrameGeometry& geometry) {
  GstStructure* params = get_param(roi, kDetectionParam);
  const auto fraction = [](float v, int size) {
    return std::clamp(static_cast<double>(v) / size, 0.0, 1.0);
  };
  const Box& box = region.box;
  const std::pair<const char*, double> fields[] = {
      {"x_min", fraction(box.x, geometry.width)},
      {"y_min", fraction(box.y, geometry.height)},
      {"x_max", fraction(box.x + box.w, geometry.width)},
      {"y_max", fraction(box.y + box.h, geometry.height)},
      {"confidence", region.confidence},
      {"roll", roll_degrees(region.roll)}};
  Changed changed = Changed::kNothing;
  const auto write = [params, &changed](const char* field, const std::vector<float>& values,
                                        Changed what) {
    if (has_floats(params, field, values)) return;
    set_floats(params, field, values);
    changed = std::max(changed, what);
  };
  for (const auto& [field, value] : fields) {
    gdouble known = 0;
    if (gst_structure_get_double(params, field, &known) && known == value) continue;
    gst_structure_set(params, field, G_TYPE_DOUBLE, value, nullptr);
    changed = Changed::kRegions;
  }
  write(kLandmarks, region.landmarks, Changed::kLandmarks);
  write(kConfidences, region.confidences, Changed::kLandmarks);
  write(kKeypoints, region.keypoints, Changed::kRegions);
  if (region.id != 0 && roi.id != static_cast<gint>(region.id))
    gst_structure_set(get_param(roi, kObjectIdParam), "id", G_TYPE_INT,
                      static_cast<gint>(region.id), nullptr);
  return changed;
}

/// Makes it that region, whosever it was, and writes only what is not so yet.
Changed write_region(GstVideoRegionOfInterestMeta& roi, const Rect& box, const Region& region,
                     const FrameGeometry& geometry) {
  GstStructure* params = gst_video_region_of_interest_meta_get_param(&roi, kOwnParam);
  gfloat confidence = -1;
  if (params)
    gst_structure_get(params, "confidence", G_TYPE_FLOAT, &confidence, nullptr);
  else
    gst_video_region_of_interest_meta_add_param(&roi, params = gst_structure_new_empty(kOwnParam));
  const Changed changed = write_detection(roi, region, geometry);
  const bool same = box_of(roi) == box && roi.id == static_cast<gint>(region.id) &&
                    confidence == region.confidence;
  if (!same) {
    roi.x = static_cast<guint>(box.x);
    roi.y = static_cast<guint>(box.y);
    roi.w = static_cast<guint>(box.w);
    roi.h = static_cast<guint>(box.h);
    roi.id = static_cast<gint>(region.id);
    gst_structure_set(params, "id", G_TYPE_UINT64, region.id, "confidence", G_TYPE_FLOAT,
                      region.confidence, nullptr);
  }
  if (!has_floats(params, kLandmarks, region.landmarks))
    set_floats(params, kLandmarks, region.landmarks);
  return same ? changed : Changed::kRegions;
}

}  // namespace

bool is_one_of(std::string_view label, std::string_view labels) {
  while (!labels.empty()) {
    std::string_view one = labels.substr(0, labels.find(','));
    labels.remove_prefix(std::min(one.size() + 1, labels.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (!one.empty() && one == label) return true;
  }
  return false;
}

bool is_own_region(const GstVideoRegionOfInterestMeta& roi, const char* label) {
  // The call only reads, but takes no const.
  return has_label(roi, label) && gst_video_region_of_interest_meta_get_param(
                                      const_cast<GstVideoRegionOfInterestMeta*>(&roi), kOwnParam);
}

Status publish_regions(GstBuffer* buffer, const GstVideoInfo& info, const RegionKind& kind,
                       const AnyResult& result, FirstSeen& first_seen, bool analytics) {
  CUFACE_TAKE(regions, kind.read(result));
  const FrameGeometry geometry = frame_geometry(buffer, info.width, info.height);
  CUFACE_TAKE(metas, own_regions(buffer, kind, geometry));
  first_seen.update(regions, GST_BUFFER_PTS(buffer));
  std::vector<PlainRegion> plain;
  Changed changed = Changed::kNothing;
  for (const Region& region : regions) {
    const Rect box = visible_part(region.box, geometry);
    if (box.w <= 0 || box.h <= 0) continue;
    GstVideoRegionOfInterestMeta* roi =
        plain.size() < metas.size()
            ? metas[plain.size()]
            : gst_buffer_add_video_region_of_interest_meta(buffer, kind.label, 0, 0, 0, 0);
    changed = std::max(changed, write_region(*roi, box, region, geometry));
    plain.push_back(
        {box, region.id, region.confidence, first_seen.of(region.id), region.roll, {}, {}});
    if (kHaveKeypoints && analytics) {
      plain.back().keypoints = {whole_pixels(region.keypoints, geometry), {}};
      plain.back().landmarks = {whole_pixels(region.landmarks, geometry), region.confidences};
    }
  }
  if (plain.size() != metas.size()) changed = Changed::kRegions;
  for (std::size_t i = plain.size(); i < metas.size(); ++i)
    gst_buffer_remove_meta(buffer, &metas[i]->meta);
  std::vector<LostRegion> lost;
  if (kHaveAnalytics && analytics) lost = first_seen.lost();
  if (!analytics) plain.clear();
  publish_analytics(buffer, kind.label, plain, lost, GST_BUFFER_PTS(buffer), changed);
  return {};
}

GType standard_metas_type() {
  static const GType type = enum_type(
      "GstCufaceStandardMetas",
      {{static_cast<int>(StandardMetas::kAuto), "Where the element works on the CPU", "auto"},
       {static_cast<int>(StandardMetas::kAlways),
        "On every frame; the element waits for a GPU that works for it", "always"},
       {static_cast<int>(StandardMetas::kNever), "Only gst-cuface's own meta", "never"}});
  return type;
}

}  // namespace cuface::gst
