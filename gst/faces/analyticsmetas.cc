#include "gst/faces/analyticsmetas.h"

#include <gst/analytics/analytics.h>

#include <algorithm>
#include <cstring>

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

/// By id, whether our elements put it there.
std::vector<bool> own_entries(Meta* meta) {
  std::vector<bool> own(gst_analytics_relation_get_length(meta));
  gpointer state = nullptr;
  GstAnalyticsMtd mark;
  while (gst_analytics_relation_meta_iterate(meta, &state, type_of(kMark), &mark)) {
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

Meta* add_meta(GstBuffer* buffer, std::size_t entries) {
  GstAnalyticsRelationMetaInitParams room;
  room.initial_relation_order = std::max<std::size_t>(entries, 5);
  room.initial_buf_size = 64 * room.initial_relation_order;  // it grows by as much at a time
  return gst_buffer_add_analytics_relation_meta_full(buffer, &room);
}

/// GstAnalytics cannot remove an entry, so the meta is made anew without them. `room`: entries to
/// come.
void remove_own(GstBuffer* buffer, std::size_t room) {
  Meta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (!meta) return;
  const std::vector<bool> own = own_entries(meta);
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
    std::vector<guint> now;
    for (const guint id : kept) now.push_back(copy_entry(buffer, meta, aside, from, id));
    for (std::size_t i = 0; i < kept.size(); ++i)
      for (std::size_t k = 0; k < kept.size(); ++k)
        gst_analytics_relation_meta_set_relation(
            meta, gst_analytics_relation_meta_get_relation(from, kept[i], kept[k]), now[i], now[k]);
  }
  gst_buffer_unref(aside);
}

void add_face(Meta* meta, guint mark, const PlainFace& face, GstClockTime now) {
  static const GQuark type = g_quark_from_static_string("face");
  GstAnalyticsODMtd found;
  gst_analytics_relation_meta_add_od_mtd(meta, type, face.box.x, face.box.y, face.box.w, face.box.h,
                                         face.confidence, &found);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_CONTAIN, mark, found.id);
  if (face.id == 0) return;
  GstAnalyticsTrackingMtd track;
  gst_analytics_relation_meta_add_tracking_mtd(meta, face.id, face.first_seen, &track);
  gst_analytics_tracking_mtd_update_last_seen(&track, now);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_CONTAIN, mark, track.id);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, found.id,
                                           track.id);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, track.id,
                                           found.id);
}

}  // namespace

void publish_analytics(GstBuffer* buffer, const std::vector<PlainFace>& faces, GstClockTime now,
                       bool changed) {
  if (Meta* there = gst_buffer_get_analytics_relation_meta(buffer); there && !changed)
    if (const auto own = own_entries(there); std::find(own.begin(), own.end(), true) != own.end())
      return;
  const std::size_t room = faces.empty() ? 0 : 1 + 2 * faces.size();
  remove_own(buffer, room);
  if (faces.empty()) return;
  Meta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (!meta) meta = add_meta(buffer, room);
  GstAnalyticsMtd mark;
  gst_analytics_relation_meta_add_mtd(meta, &kMark, 0, &mark);
  for (const PlainFace& face : faces) add_face(meta, mark.id, face, now);
}

}  // namespace cuface::gst
