#include "gst/regions/analytics.h"

#include <gst/analytics/analytics.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_map>

#include "gst/regions/regions.h"
#include "kernels/faces/faces.h"

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

/// As a buffer's copy does it with all at once.
void copy_entry(GstBuffer* buffer, Meta* meta, GstBuffer* from_buffer, Meta* from, guint id) {
  const GstAnalyticsMtd entry{id, from};
  const GstAnalyticsMtdImpl* impl = implementation_of(entry);
  const gsize size = gst_analytics_mtd_get_size(&entry);
  GstAnalyticsMtd copy;
  gpointer data = gst_analytics_relation_meta_add_mtd(meta, impl, size, &copy);
  std::memcpy(data, gst_analytics_relation_meta_get_mtd_data(from, id), size);
  if (impl->mtd_meta_transform)
    impl->mtd_meta_transform(buffer, &copy, from_buffer, _gst_meta_transform_copy, &kAll);
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

/// Members are ids, so the copy has the new ones.
void copy_group(Meta* meta, Meta* from, guint id, const std::vector<guint>& now) {
  const GstAnalyticsGroupMtd group{id, from};
  const gsize count = gst_analytics_group_mtd_get_member_count(&group);
  GstAnalyticsGroupMtd copy;
  gst_analytics_relation_meta_add_group_mtd_with_size(meta, std::max<gsize>(count, 1), &copy);
  for (gsize i = 0; i < count; ++i) {
    GstAnalyticsMtd member;
    if (gst_analytics_group_mtd_get_member(&group, i, &member) && now[member.id] != kNoEntry)
      gst_analytics_group_mtd_add_member(&copy, now[member.id]);
  }
}

/// A group that the detection contains.
void add_points(Meta* meta, guint mark, guint detection, const std::string& tag,
                const PlainPoints& points) {
  if (points.at.empty()) return;
  const gsize count = points.count();
  GstAnalyticsGroupMtd group;
  if (!gst_analytics_relation_meta_add_keypoints_group(
          meta, tag.c_str(), GST_ANALYTICS_KEYPOINT_DIMENSIONS_2D, points.at.size(),
          points.at.data(), count,
          points.confidences.size() == count ? points.confidences.data() : nullptr, nullptr, 0,
          nullptr, &group))
    return;
  contain(meta, detection, group.id);
  contain(meta, mark, group.id);
  for (gsize i = 0; i < count; ++i) {
    GstAnalyticsMtd member;
    if (gst_analytics_group_mtd_get_member(&group, i, &member)) contain(meta, mark, member.id);
  }
}

bool has_tag(Meta* meta, guint id, const std::string& tag) {
  const GstAnalyticsMtd entry{id, meta};
  return gst_analytics_mtd_has_semantic_tag(&entry, tag.c_str());
}

#else

bool is_group(Meta*, guint) { return false; }
void copy_tag(const GstAnalyticsMtd&, const GstAnalyticsMtd&) {}
void copy_group(Meta*, Meta*, guint, const std::vector<guint>&) {}
void add_points(Meta*, guint, guint, const std::string&, const PlainPoints&) {}
bool has_tag(Meta*, guint, const std::string&) { return false; }

#endif

/// As in GStreamer's own documentation: "face-68-kp".
std::string keypoints_tag(GQuark label, std::size_t count) {
  return std::string(g_quark_to_string(label)) + "-" + std::to_string(count) + "-kp";
}
/// Five of a forest are not the five of a network.
std::string landmarks_tag(GQuark label, std::size_t count) {
  if (count != kFaceKeypoints) return keypoints_tag(label, count);
  return std::string(g_quark_to_string(label)) + "-landmarks-" + std::to_string(count) + "-kp";
}

Meta* add_meta(GstBuffer* buffer, std::size_t entries) {
  GstAnalyticsRelationMetaInitParams room;
  room.initial_relation_order = std::max<std::size_t>(entries, 5);
  room.initial_buf_size = 64 * room.initial_relation_order;  // it grows by as much at a time
  return gst_buffer_add_analytics_relation_meta_full(buffer, &room);
}

/// GstAnalytics can neither remove entries nor make room for many, so the meta is made anew without
/// those that are `gone`, with room for as many more. Entries that a transform has dropped have no
/// implementation, and go too. Returns the new id of each, or kNoEntry.
std::vector<guint> remake(GstBuffer* buffer, const std::vector<bool>& gone, std::size_t room) {
  Meta* from = gst_buffer_get_analytics_relation_meta(buffer);
  auto* old = reinterpret_cast<GstMeta*>(from);
  std::vector<guint> kept, now(gone.size(), kNoEntry);
  for (guint id = 0; id < gone.size(); ++id) {
    if (gone[id] || !implementation_of({id, from})) continue;
    now[id] = static_cast<guint>(kept.size());  // an entry's id is its place
    kept.push_back(id);
  }
  if (kept.empty()) {
    gst_buffer_remove_meta(buffer, old);
    return now;
  }

  // A buffer has one such meta, so the new one is made on another buffer.
  GstBuffer* aside = gst_buffer_new();
  Meta* meta = add_meta(aside, kept.size() + room);
  for (const guint id : kept) {
    if (is_group(from, id))
      copy_group(meta, from, id, now);
    else
      copy_entry(aside, meta, buffer, from, id);
    copy_tag({id, from}, {now[id], meta});
  }
  for (const guint one : kept)
    for (const guint other : kept)
      gst_analytics_relation_meta_set_relation(
          meta, gst_analytics_relation_meta_get_relation(from, one, other), now[one], now[other]);
  const GstMetaInfo* info = old->info;
  gst_buffer_remove_meta(buffer, old);
  info->transform_func(buffer, reinterpret_cast<GstMeta*>(meta), aside, _gst_meta_transform_copy,
                       &kAll);
  gst_buffer_unref(aside);
  return now;
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

void add_region(Meta* meta, GQuark label, guint mark, const PlainRegion& region, bool landmarks,
                GstClockTime now) {
  GstAnalyticsODMtd found = add_detection(meta, label, region);
  contain(meta, mark, found.id);
  add_points(meta, mark, found.id, keypoints_tag(label, kFaceKeypoints), region.keypoints);
  if (landmarks)
    add_points(meta, mark, found.id, landmarks_tag(label, region.landmarks.count()),
               region.landmarks);
  if (region.id == 0) return;
  relate(meta, found.id, add_track(meta, mark, region.id, region.first_seen, now).id);
}

std::size_t entries_of(const PlainPoints& points) {
  return kHaveKeypoints && !points.at.empty() ? 1 + points.count() : 0;
}

/// The regions, from the first on, whose landmarks are told where there are `entries` without them;
/// and the entries of these landmarks.
struct Told {
  std::size_t regions = 0, entries = 0;
};
Told landmarks_told(const std::vector<PlainRegion>& regions, std::size_t entries) {
  Told told;
  for (const PlainRegion& region : regions) {
    const std::size_t more = entries_of(region.landmarks);
    if (entries + told.entries + more > kMostEntries) break;
    told.entries += more;
    ++told.regions;
  }
  return told;
}

/// Adds the landmarks to our entries of these regions. False where there are landmarks already, or
/// not these regions.
bool add_landmarks(GstBuffer* buffer, GQuark label, const std::vector<bool>& own,
                   const std::vector<PlainRegion>& regions) {
  Meta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  const std::string keypoints = keypoints_tag(label, kFaceKeypoints);
  guint mark = kNoEntry;
  std::vector<guint> detections;
  for (guint id = 0; id < own.size(); ++id) {
    if (!own[id]) continue;
    const GstAnalyticsMtd entry{id, meta};
    const GstAnalyticsMtdType type = gst_analytics_mtd_get_mtd_type(&entry);
    if (type == type_of(kMark)) mark = id;
    if (type == gst_analytics_od_mtd_get_mtd_type()) detections.push_back(id);
    if (is_group(meta, id) && !has_tag(meta, id, keypoints)) return false;
  }
  if (mark == kNoEntry || detections.size() != regions.size()) return false;
  const Told told = landmarks_told(regions, own.size());
  const auto now = remake(buffer, std::vector<bool>(own.size(), false), told.entries);
  meta = gst_buffer_get_analytics_relation_meta(buffer);
  for (std::size_t i = 0; i < told.regions; ++i)
    add_points(meta, now[mark], now[detections[i]],
               landmarks_tag(label, regions[i].landmarks.count()), regions[i].landmarks);
  return true;
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
                       GstClockTime now, Changed changed) {
  const GQuark label = g_quark_from_string(label_text);
  Meta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  const std::vector<bool> own = meta ? own_entries(meta, label) : std::vector<bool>{};
  const auto others = static_cast<std::size_t>(std::count(own.begin(), own.end(), false));
  if (others < own.size()) {
    if (changed == Changed::kNothing || (changed == Changed::kLandmarks && !kHaveKeypoints)) return;
    // Others may refer to our entries.
    if (changed == Changed::kLandmarks && others > 0 && add_landmarks(buffer, label, own, regions))
      return;
  }
  const bool any = !regions.empty() || !lost.empty();
  std::size_t room = any ? 1 + 2 * regions.size() + lost.size() : 0;
  std::size_t points = 0;
  for (const PlainRegion& region : regions) points += entries_of(region.keypoints);
  const Told told = landmarks_told(regions, others + room + points);
  points += told.entries;
  room += points;
  if (others < own.size() || (others > 0 && points > 0)) remake(buffer, own, room);
  if (!any) return;
  meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (!meta) meta = add_meta(buffer, room);
  GstAnalyticsMtd mark;
  std::memcpy(gst_analytics_relation_meta_add_mtd(meta, &kMark, sizeof label, &mark), &label,
              sizeof label);
  for (std::size_t i = 0; i < regions.size(); ++i)
    add_region(meta, label, mark.id, regions[i], i < told.regions, now);
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
