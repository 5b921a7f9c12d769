#include "gst/meta/framemeta.h"

#include "gst/meta/copier.h"
#include "gst/meta/view.h"
#include "gst/meta/witness.h"

namespace cuface::gst {
namespace {

struct FrameMeta {
  GstMeta meta;
  FrameRecord* record;
};

gboolean init(GstMeta* base, gpointer, GstBuffer*) {
  auto* record = new FrameRecord;
  record->results.reserve(4);  // detector, tracker, landmarks and one more
  reinterpret_cast<FrameMeta*>(base)->record = record;
  return TRUE;
}

/// Runs before a pool gets the frame back, and before its memory is freed.
void free_record(GstMeta* base, GstBuffer*) {
  FrameRecord* record = reinterpret_cast<FrameMeta*>(base)->record;
  for (const auto& use : record->uses) use->wait();
  delete record;
}

/// For a copy that has come out without its witness: whoever made it drops all tagged metas, and
/// may have moved pixels or not. The element itself knows.
void judge_copy(GstBuffer* source, GstBuffer* dest, FrameRecord& record) {
  if (!find_witness(source) || record.results.empty()) return;
  const auto copier = find_copier(record.last_passed, dest->pool);
  if (!copier) return;
  const GstVideoInfo &in = copier->in, &out = copier->out;
  if (!copier->keeps_places || gst_buffer_get_video_crop_meta(source) ||
      !move_witness(source, dest, PictureMap::scaling(in.width, in.height, out.width, out.height)))
    record.moved_by = std::make_shared<const std::string>(copier->name);
}

gboolean transform(GstBuffer* dest, GstMeta* base, GstBuffer* source, GQuark type, gpointer data) {
  if (!GST_META_TRANSFORM_IS_COPY(type)) return FALSE;
  if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
  FrameRecord& copy = ensure_frame_record(dest);
  // The copy may share the memory that is in use, and it may be some already.
  auto uses = std::move(copy.uses);
  copy = *reinterpret_cast<FrameMeta*>(base)->record;
  copy.uses.insert(copy.uses.end(), uses.begin(), uses.end());
  if (!find_witness(dest)) judge_copy(source, dest, copy);
  return TRUE;
}

GType api_type() {
  static const gchar* no_tags[] = {nullptr};
  static const GType type = gst_meta_api_type_register("GstCuFaceFrameMetaAPI", no_tags);
  return type;
}

const GstMetaInfo* meta_info() {
  static const GstMetaInfo* const info = gst_meta_register(
      api_type(), "GstCufaceFrameMeta", sizeof(FrameMeta), init, free_record, transform);
  return info;
}

}  // namespace

FrameRecord* get_frame_record(GstBuffer* buffer) {
  const auto* meta = reinterpret_cast<FrameMeta*>(gst_buffer_get_meta(buffer, api_type()));
  return meta ? meta->record : nullptr;
}

FrameRecord& ensure_frame_record(GstBuffer* buffer) {
  if (FrameRecord* record = get_frame_record(buffer)) return *record;
  // Metas are copied in their order: behind its witness, the frame meta sees whether that passed.
  ensure_witness(buffer);
  return *reinterpret_cast<FrameMeta*>(gst_buffer_add_meta(buffer, meta_info(), nullptr))->record;
}

void append_any(GstBuffer* buffer, GType kind, AnyResult result, bool has_places) {
  FrameRecord& record = ensure_frame_record(buffer);
  const FrameGeometry now = frame_geometry(buffer, result.width, result.height);
  if (has_places) {
    const auto map = map_to(buffer, now);
    for (FrameRecord::Entry& entry : record.results) {
      entry.fits &= map.has_value();
      if (entry.fits && entry.has_places) entry.map = entry.map.then(*map);
    }
    set_witness(buffer, now);
    record.moved_by.reset();
  }
  record.results.push_back({kind, std::move(result), has_places, true,
                            PictureMap::scaling(now.width, now.height, now.width, now.height)});
  const GstMetaInfo* view = view_of(kind);
  if (view && !gst_buffer_get_meta(buffer, kind)) gst_buffer_add_meta(buffer, view, nullptr);
}

Placement place_any(GstBuffer* buffer, GType kind, int width, int height) {
  const FrameRecord* record = get_frame_record(buffer);
  const FrameRecord::Entry* newest = record ? record->newest(kind) : nullptr;
  if (!newest) return {};
  const AnyResult& result = newest->result;
  if (!newest->has_places) return {Positions::kKnown, result};
  const Witness* witness = newest->fits ? find_witness(buffer) : nullptr;
  if (!witness) return {Positions::kUnknown, {}, {}, record->moved_by};
  const FrameGeometry& then = witness->picture;
  const FrameGeometry now =
      frame_geometry(buffer, width ? width : then.width, height ? height : then.height);
  const auto map = map_to(buffer, now);
  if (!map) return {Positions::kUnknown, {}};
  const PictureMap whole = newest->map.then(*map);
  if (whole.is_scaling()) return {Positions::kKnown, result};
  if (result.pending) return {Positions::kUnknown, {}};
  return {Positions::kKnown, result, whole};
}

}  // namespace cuface::gst
