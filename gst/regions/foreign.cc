#include "gst/regions/foreign.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "gst/regions/analytics.h"

namespace cuface::gst {
namespace {

template <typename Use>
void each_foreign_region(GstBuffer* buffer, std::string_view labels, const Use& use) {
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    const gchar* label = g_quark_to_string(roi->roi_type);
    if (label && is_one_of(label, labels) && !is_own_region(*roi, label)) use(*roi);
  }
}

/// Of whole pixels of the picture in memory, within the crop rectangle.
template <typename Rectangle>
Box box_within(const Rectangle& r, const FrameGeometry& geometry) {
  return {static_cast<float>(r.x) - static_cast<float>(geometry.crop_x),
          static_cast<float>(r.y) - static_cast<float>(geometry.crop_y), static_cast<float>(r.w),
          static_cast<float>(r.h)};
}

/// The parameter's place has fractions of a pixel. It holds where it rounds to the region's: who
/// moves a region may forget its parameters.
Box precise_box(const Box& box, const GstStructure* detection, const FrameGeometry& geometry) {
  gdouble left, top, right, bottom;
  if (!gst_structure_get(detection, "x_min", G_TYPE_DOUBLE, &left, "y_min", G_TYPE_DOUBLE, &top,
                         "x_max", G_TYPE_DOUBLE, &right, "y_max", G_TYPE_DOUBLE, &bottom, nullptr))
    return box;
  const double w = geometry.width, h = geometry.height;
  const Box said{static_cast<float>(left * w), static_cast<float>(top * h),
                 static_cast<float>((right - left) * w), static_cast<float>((bottom - top) * h)};
  constexpr float kRounded = 1.5f;
  const auto near = [](float a, float b) { return std::abs(a - b) <= kRounded; };
  const bool same = near(said.x, box.x) && near(said.y, box.y) && near(said.w, box.w) &&
                    near(said.h, box.h) && said.w > 0 && said.h > 0;
  return same ? said : box;
}

Region region_of(GstVideoRegionOfInterestMeta& roi, const FrameGeometry& geometry) {
  Region region{box_within(roi, geometry), 0, 1};
  const GstStructure* detection = gst_video_region_of_interest_meta_get_param(&roi, "detection");
  if (!detection) return region;
  gdouble confidence = 1;
  gst_structure_get_double(detection, "confidence", &confidence);
  region.confidence = static_cast<float>(confidence);
  region.box = precise_box(region.box, detection, geometry);
  return region;
}

bool is_plausible(const Box& box, const FrameGeometry& geometry) {
  return box.w > 0 && box.h > 0 && box.w <= 2 * static_cast<float>(geometry.width) &&
         box.h <= 2 * static_cast<float>(geometry.height) &&
         is_visible(box, geometry.width, geometry.height);
}

/// Whether the boxes are of one object: the centre of either lies in the other, and none is many
/// times the other's size, as a head before a larger one may be.
bool is_one_object(const Box& a, const Box& b) {
  constexpr float kAlike = 2;
  const float small = std::min(a.w, b.w), large = std::max(a.w, b.w);
  const auto lies_in = [](const Box& inner, const Box& outer) {
    const float x = inner.x + inner.w / 2, y = inner.y + inner.h / 2;
    return x > outer.x && x < outer.x + outer.w && y > outer.y && y < outer.y + outer.h;
  };
  return large <= kAlike * small && lies_in(a, b) && lies_in(b, a);
}

/// One of each object, and no more than kMostForeign; in their order.
std::vector<Region> most_confident(std::vector<Region> all) {
  std::vector<std::size_t> order(all.size()), kept;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return all[i].confidence; });
  for (const std::size_t i : order) {
    if (kept.size() == kMostForeign) break;
    const auto same = [&](std::size_t k) { return is_one_object(all[k].box, all[i].box); };
    if (std::ranges::none_of(kept, same)) kept.push_back(i);
  }
  std::ranges::sort(kept);
  std::vector<Region> some;
  for (const std::size_t i : kept) some.push_back(std::move(all[i]));
  return some;
}

/// The id of the region that covers most of the box's object; 0 without.
std::uint64_t id_of(const Box& box, std::span<const Region> regions) {
  std::uint64_t id = 0;
  float most = 0;
  for (const Region& region : regions) {
    const float overlap = intersection_over_union(region.box, box);
    if (region.id == 0 || overlap <= most || !is_one_object(region.box, box)) continue;
    most = overlap;
    id = region.id;
  }
  return id;
}

void set_object_id(GstVideoRegionOfInterestMeta& roi, std::uint64_t id) {
  GstStructure* params = gst_video_region_of_interest_meta_get_param(&roi, kObjectIdParam);
  if (!params) {
    params = gst_structure_new_empty(kObjectIdParam);
    gst_video_region_of_interest_meta_add_param(&roi, params);
  }
  gst_structure_set(params, "id", G_TYPE_INT, static_cast<gint>(id), nullptr);
}

}  // namespace

std::vector<Region> read_foreign(GstBuffer* buffer, const FrameGeometry& geometry,
                                 std::string_view labels) {
  std::vector<Region> found;
  each_foreign_region(buffer, labels, [&](GstVideoRegionOfInterestMeta& roi) {
    found.push_back(region_of(roi, geometry));
  });
  for (const ForeignDetection& detection : foreign_detections(buffer, labels)) {
    found.push_back({box_within(detection.box, geometry), 0, detection.confidence});
    found.back().roll = detection.roll;
  }
  std::erase_if(found, [&](const Region& r) { return !is_plausible(r.box, geometry); });
  for (Region& region : found)
    region.confidence = region.confidence > 0 ? std::min(region.confidence, 1.0f) : 0;
  return most_confident(std::move(found));
}

void give_ids(GstBuffer* buffer, const FrameGeometry& geometry, std::string_view labels,
              std::span<const Region> regions) {
  each_foreign_region(buffer, labels, [&](GstVideoRegionOfInterestMeta& roi) {
    if (const std::uint64_t id = id_of(box_within(roi, geometry), regions)) set_object_id(roi, id);
  });
  relate_tracks(buffer, labels,
                [&](const Rect& box) { return id_of(box_within(box, geometry), regions); });
}

}  // namespace cuface::gst
