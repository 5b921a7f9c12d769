#include "gst/regions/analytics.h"

#include <gst/analytics/analytics.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_map>

#include "gst/regions/regions.h"

namespace cuface::gst {
namespace {

using Meta = GstAnalyticsRelationMeta;

const GstAnalyticsMtdImpl kMark = [] {
  GstAnalyticsMtdImpl impl{};
  impl.name = "cuface";
  return impl;
}();

/// A type is its implementation's address.
GstAnalyticsMtdType type_of(const GstAnalyticsMtdImpl& impl) {
  return reinterpret_cast<GstAnalyticsMtdType>(&impl);
}
const GstAnalyticsMtdImpl* implementation_of(const GstAnalyticsMtd& entry) {
  return reinterpret_cast<const GstAnalyticsMtdImpl*>(gst_analytics_mtd_get_mtd_type(&entry));
}

/// The label whose entries a mark contains.
GQuark label_of(const GstAnalyticsMtd& mark) {
  GQuark label;
  std::memcpy(&label, gst_analytics_relation_meta_get_mtd_data(mark.meta, mark.id), sizeof label);
  return label;
}

constexpr GQuark kAnyLabel = 0;
constexpr guint kNoEntry = G_MAXUINT;

void contain(Meta* meta, guint one, guint other) {
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_CONTAIN, one, other);
}

/// By id, whether our elements put it there under the label, or any.
std::vector<bool> own_entries(Meta* meta, GQuark label) {
  std::vector<bool> own(gst_analytics_relation_get_length(meta));
  gpointer state = nullptr;
  GstAnalyticsMtd mark;
  while (gst_analytics_relation_meta_iterate(meta, &state, type_of(kMark), &mark)) {
    if (label != kAnyLabel && label_of(mark) != label) continue;
    own[mark.id] = true;
    for (guint id = 0; id < own.size(); ++id)
      if (gst_analytics_relation_meta_get_relation(meta, mark.id, id) &
          GST_ANALYTICS_REL_TYPE_CONTAIN)
        own[id] = true;
  }
  return own;
}

GstMetaTransformCopy kAll{FALSE, 0, static_cast<gsize>(-1)};

/// As a buffer's copy does it with all at once. Returns the new id.
guint copy_entry(GstBuffer* buffer, Meta* meta, GstBuffer* from_buffer, Meta* from, guint id) {
  const GstAnalyticsMtd entry{id, from};
  const GstAnalyticsMtdImpl* impl = implementation_of(entry);
  const gsize size = gst_analytics_mtd_get_size(&entry);
  GstAnalyticsMtd copy;
  gpointer data = gst_analytics_relation_meta_add_mtd(meta, impl, size, &copy);
  std::memcpy(data, gst_analytics_relation_meta_get_mtd_data(from, id), size);
  if (impl->mtd_meta_transform)
    impl->mtd_meta_transform(buffer, &copy, from_buffer, _gst_meta_transform_copy, &kAll);
  return copy.id;
}

#ifdef CUFACE_HAVE_KEYPOINTS

bool is_group(Meta* meta, guint id) {
  const GstAnalyticsMtd entry{id, meta};
  return gst_analytics_mtd_get_mtd_type(&entry) == gst_analytics_group_mtd_get_mtd_type();
}

void copy_tag(const GstAnalyticsMtd& from, GstAnalyticsMtd to) {
  gchar* tag = gst_analytics_mtd_get_semantic_tag(&from);
  if (tag) gst_analytics_mtd_set_semantic_tag(&to, tag);
  g_free(tag);
}

/// Members are ids, so they are looked up among the new ones.
guint copy_group(Meta* meta, Meta* from, guint id, const std::vector<guint>& now) {
  const GstAnalyticsGroupMtd group{id, from};
  const gsize count = gst_analytics_group_mtd_get_member_count(&group);
  GstAnalyticsGroupMtd copy;
  gst_analytics_relation_meta_add_group_mtd_with_size(meta, std::max<gsize>(count, 1), &copy);
  for (gsize i = 0; i < count; ++i) {
    GstAnalyticsMtd member;
    if (gst_analytics_group_mtd_get_member(&group, i, &member) && now[member.id] != kNoEntry)
      gst_analytics_group_mtd_add_member(&copy, now[member.id]);
  }
  return copy.id;
}

void add_keypoints(Meta* meta, GQuark label, guint mark, guint detection,
                   const std::vector<gint>& points) {
  if (points.empty()) return;
  const gsize count = points.size() / 2;
  const std::string tag =
      std::string(g_quark_to_string(label)) + "-" + std::to_string(count) + "-kp";
  GstAnalyticsGroupMtd group;
  if (!gst_analytics_relation_meta_add_keypoints_group(
          meta, tag.c_str(), GST_ANALYTICS_KEYPOINT_DIMENSIONS_2D, points.size(), points.data(),
          count, nullptr, nullptr, 0, nullptr, &group))
    return;
  contain(meta, detection, group.id);
  contain(meta, mark, group.id);
  for (gsize i = 0; i < count; ++i) {
    GstAnalyticsMtd member;
    if (gst_analytics_group_mtd_get_member(&group, i, &member)) contain(meta, mark, member.id);
  }
}

#else

bool is_group(Meta*, guint) { return false; }
void copy_tag(const GstAnalyticsMtd&, const GstAnalyticsMtd&) {}
guint copy_group(Meta*, Meta*, guint, const std::vector<guint>&) { return kNoEntry; }
void add_keypoints(Meta*, GQuark, guint, guint, const std::vector<gint>&) {}

#endif

Meta* add_meta(GstBuffer* buffer, std::size_t entries) {
  GstAnalyticsRelationMetaInitParams room;
  room.initial_relation_order = std::max<std::size_t>(entries, 5);
  room.initial_buf_size = 64 * room.initial_relation_order;  // it grows by as much at a time
  return gst_buffer_add_analytics_relation_meta_full(buffer, &room);
}

/// GstAnalytics cannot remove an entry, so the meta is made anew without them. `room`: entries to
/// come.
void remove_own(GstBuffer* buffer, GQuark label, std::size_t room) {
  Meta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (!meta) return;
  const std::vector<bool> own = own_entries(meta, label);
  std::vector<guint> kept;
  for (guint id = 0; id < own.size(); ++id)
    if (!own[id]) kept.push_back(id);
  if (kept.size() == own.size()) return;

  // A buffer has one such meta, so the old one moves to another buffer.
  GstBuffer* aside = gst_buffer_new();
  auto* old = reinterpret_cast<GstMeta*>(meta);
  if (!kept.empty()) old->info->transform_func(aside, old, buffer, _gst_meta_transform_copy, &kAll);
  gst_buffer_remove_meta(buffer, old);
  if (!kept.empty()) {
    Meta* from = gst_buffer_get_analytics_relation_meta(aside);
    meta = add_meta(buffer, kept.size() + room);
    std::vector<guint> now(own.size(), kNoEntry);
    for (const bool groups : {false, true})  // members come before their group
      for (const guint id : kept) {
        if (is_group(from, id) != groups) continue;
        now[id] =
            groups ? copy_group(meta, from, id, now) : copy_entry(buffer, meta, aside, from, id);
        copy_tag({id, from}, {now[id], meta});
      }
    for (const guint one : kept)
      for (const guint other : kept)
        gst_analytics_relation_meta_set_relation(
            meta, gst_analytics_relation_meta_get_relation(from, one, other), now[one], now[other]);
  }
  gst_buffer_unref(aside);
}

GstAnalyticsODMtd add_detection(Meta* meta, GQuark label, const PlainRegion& region) {
  GstAnalyticsODMtd found;
  const Rect& box = region.box;
#if GST_CHECK_VERSION(1, 26, 0)
  if (region.roll != Roll{}) {
    const float radians = std::atan2(region.roll.sin, region.roll.cos);
    gst_analytics_relation_meta_add_oriented_od_mtd(meta, label, box.x, box.y, box.w, box.h,
                                                    radians, region.confidence, &found);
    return found;
  }
#endif
  gst_analytics_relation_meta_add_od_mtd(meta, label, box.x, box.y, box.w, box.h, region.confidence,
                                         &found);
  return found;
}

GstAnalyticsTrackingMtd add_track(Meta* meta, guint mark, std::uint64_t id, GstClockTime first,
                                  GstClockTime last) {
  GstAnalyticsTrackingMtd track;
  gst_analytics_relation_meta_add_tracking_mtd(meta, id, first, &track);
  gst_analytics_tracking_mtd_update_last_seen(&track, last);
  contain(meta, mark, track.id);
  return track;
}

void relate(Meta* meta, guint one, guint other) {
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, one, other);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, other, one);
}

void add_region(Meta* meta, GQuark label, guint mark, const PlainRegion& region, GstClockTime now) {
  GstAnalyticsODMtd found = add_detection(meta, label, region);
  contain(meta, mark, found.id);
  add_keypoints(meta, label, mark, found.id, region.keypoints);
  if (region.id == 0) return;
  relate(meta, found.id, add_track(meta, mark, region.id, region.first_seen, now).id);
}

ForeignDetection detection_of(const GstAnalyticsODMtd& entry) {
  ForeignDetection detection;
  detection.entry = entry.id;
  Rect& box = detection.box;
#if GST_CHECK_VERSION(1, 26, 0)
  gfloat radians = 0;
  gst_analytics_od_mtd_get_oriented_location(&entry, &box.x, &box.y, &box.w, &box.h, &radians,
                                             &detection.confidence);
  if (std::isfinite(radians)) detection.roll = {std::cos(radians), std::sin(radians)};
#else
  gst_analytics_od_mtd_get_location(&entry, &box.x, &box.y, &box.w, &box.h, &detection.confidence);
#endif
  return detection;
}

}  // namespace

void publish_analytics(GstBuffer* buffer, const char* label_text,
                       const std::vector<PlainRegion>& regions, const std::vector<LostRegion>& lost,
                       GstClockTime now, bool changed) {
  const GQuark label = g_quark_from_string(label_text);
  if (Meta* there = gst_buffer_get_analytics_relation_meta(buffer); there && !changed)
    if (const auto own = own_entries(there, label);
        std::find(own.begin(), own.end(), true) != own.end())
      return;
  const bool any = !regions.empty() || !lost.empty();
  const std::size_t room = any ? 1 + 2 * regions.size() + lost.size() : 0;
  remove_own(buffer, label, room);
  if (!any) return;
  Meta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (!meta) meta = add_meta(buffer, room);
  GstAnalyticsMtd mark;
  std::memcpy(gst_analytics_relation_meta_add_mtd(meta, &kMark, sizeof label, &mark), &label,
              sizeof label);
  for (const PlainRegion& region : regions) add_region(meta, label, mark.id, region, now);
  for (const LostRegion& one : lost) {
    GstAnalyticsTrackingMtd track = add_track(meta, mark.id, one.id, one.first_seen, one.last_seen);
    gst_analytics_tracking_mtd_set_lost(&track);
  }
}

std::vector<ForeignDetection> foreign_detections(GstBuffer* buffer, std::string_view labels) {
  std::vector<ForeignDetection> found;
  Meta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (!meta) return found;
  const std::vector<bool> own = own_entries(meta, kAnyLabel);
  gpointer state = nullptr;
  GstAnalyticsMtd entry;
  while (gst_analytics_relation_meta_iterate(meta, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             &entry)) {
    const gchar* label = g_quark_to_string(gst_analytics_od_mtd_get_obj_type(&entry));
    if (!own[entry.id] && label && is_one_of(label, labels)) found.push_back(detection_of(entry));
  }
  return found;
}

void relate_tracks(GstBuffer* buffer, std::string_view labels,
                   const std::function<std::uint64_t(const Rect&)>& id_of) {
  Meta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (!meta) return;
  const std::vector<bool> own = own_entries(meta, kAnyLabel);
  std::unordered_map<std::uint64_t, guint> tracks;
  gpointer state = nullptr;
  GstAnalyticsTrackingMtd track;
  while (gst_analytics_relation_meta_iterate(meta, &state,
                                             gst_analytics_tracking_mtd_get_mtd_type(), &track)) {
    guint64 id = 0;
    GstClockTime first, last;
    gboolean lost = FALSE;
    if (own[track.id] && gst_analytics_tracking_mtd_get_info(&track, &id, &first, &last, &lost))
      tracks.emplace(id, track.id);
  }
  for (const ForeignDetection& detection : foreign_detections(buffer, labels))
    if (const auto found = tracks.find(id_of(detection.box)); found != tracks.end())
      relate(meta, detection.entry, found->second);
}

}  // namespace cuface::gst
