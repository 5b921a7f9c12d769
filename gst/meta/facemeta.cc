#include "gst/meta/facemeta.h"

#include <mutex>
#include <utility>

#include "gst/meta/copier.h"
#include "gst/meta/witness.h"

/// Lives in its buffer's list of metas, so the pointer back is valid as long as the meta is.
struct _GstCufaceMeta {
  GstMeta meta;
  GstBuffer* buffer;
  cuface::gst::FaceRecord* record;
};

struct _GstCufaceFaces {
  gatomicrefcount references;
  cuface::gst::FaceResult result;
  std::mutex mutex;          // of the list, until it is there
  cuface::FaceListRef list;  // once read; stays as it is
};

namespace cuface::gst {
namespace {

GST_DEBUG_CATEGORY_STATIC(cuface_meta_debug);
#define GST_CAT_DEFAULT cuface_meta_debug

gboolean init(GstMeta* base, gpointer, GstBuffer* buffer) {
  auto* meta = reinterpret_cast<GstCufaceMeta*>(base);
  meta->buffer = buffer;
  meta->record = new FaceRecord;
  meta->record->results.reserve(4);  // detector, tracker, landmarks and one more
  return TRUE;
}

/// Runs before a pool gets the frame back, and before its memory is freed.
void free_record(GstMeta* base, GstBuffer*) {
  FaceRecord* record = reinterpret_cast<GstCufaceMeta*>(base)->record;
  for (const auto& use : record->uses) use->wait();
  delete record;
}

/// For a copy that has come out without its witness: whoever made it drops all tagged metas, and
/// may have moved pixels or not. The element itself knows.
void judge_copy(GstBuffer* source, GstBuffer* dest, FaceRecord& record) {
  const FrameGeometry* said = witness_geometry(source);
  if (!said || record.results.empty()) return;
  const auto copier = find_copier(record.last_passed, dest->pool);
  if (!copier) return;
  if (copier->keeps_places && !gst_buffer_get_video_crop_meta(source) &&
      *said == FrameGeometry{copier->in.width, copier->in.height, 0, 0})
    set_witness(dest, {copier->out.width, copier->out.height, 0, 0});
  else
    record.moved_by = std::make_shared<const std::string>(copier->name);
}

gboolean transform(GstBuffer* dest, GstMeta* base, GstBuffer* source, GQuark type, gpointer data) {
  if (!GST_META_TRANSFORM_IS_COPY(type)) return FALSE;
  if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
  FaceRecord& copy = ensure_face_record(dest);
  // The copy may share the memory that is in use, and it may be some already.
  auto uses = std::move(copy.uses);
  copy = *reinterpret_cast<GstCufaceMeta*>(base)->record;
  copy.uses.insert(copy.uses.end(), uses.begin(), uses.end());
  if (!witness_geometry(dest)) judge_copy(source, dest, copy);
  return TRUE;
}

const GstMetaInfo* meta_info() {
  static const GstMetaInfo* const info = [] {
    GST_DEBUG_CATEGORY_INIT(cuface_meta_debug, "cufacemeta", 0, "face meta of gst-cuface");
    return gst_meta_register(gst_cuface_meta_api_get_type(), "GstCufaceMeta", sizeof(GstCufaceMeta),
                             init, free_record, transform);
  }();
  return info;
}

GstCufaceMeta* get_meta(GstBuffer* buffer) {
  return reinterpret_cast<GstCufaceMeta*>(
      gst_buffer_get_meta(buffer, gst_cuface_meta_api_get_type()));
}

/// The faces in pixels of another part of the picture they were found on: `to` says where it starts
/// from `from`, and its size. Those outside are left out.
FaceListRef cropped_faces(const FaceList& faces, const FrameGeometry& from,
                          const FrameGeometry& to) {
  const auto dx = static_cast<float>(from.crop_x - to.crop_x);
  const auto dy = static_cast<float>(from.crop_y - to.crop_y);
  auto cropped = std::make_shared<FaceList>(faces);
  cropped->width = to.width;
  cropped->height = to.height;
  cropped->part = {};  // its borders are of the picture as it was
  cropped->faces.clear();
  cropped->landmarks.clear();
  cropped->followed.clear();
  cropped->followed_per_face = 0;
  for (std::size_t i = 0; i < faces.faces.size(); ++i) {
    Face face = faces.faces[i];
    face.box.x += dx;
    face.box.y += dy;
    const bool visible = face.box.x < static_cast<float>(to.width) &&
                         face.box.y < static_cast<float>(to.height) &&
                         face.box.x + face.box.w > 0 && face.box.y + face.box.h > 0;
    if (!visible) continue;
    cropped->faces.push_back(face);
    const Point* points = faces.landmarks_of(i);
    for (int p = 0; p < faces.landmarks_per_face; ++p)
      cropped->landmarks.push_back({points[p].x + dx, points[p].y + dy});
  }
  return cropped;
}

/// The newest result in the picture as it is now, in pixels of whatever size; the size of a picture
/// without a crop rectangle is told, or 0 where it is not known.
FacesFound place_faces(GstBuffer* buffer, const FaceRecord& record, int width, int height) {
  if (record.results.empty()) return {};
  const FaceResult& newest = record.results.back();
  const FrameGeometry* said = witness_geometry(buffer);
  if (!said) return {Positions::kUnknown, {}, false, record.moved_by};
  const FrameGeometry now =
      frame_geometry(buffer, width ? width : said->width, height ? height : said->height);
  if (now == *said) return {Positions::kKnown, newest};
  // A crop rectangle set since then says what it leaves of the picture.
  if (!gst_buffer_get_video_crop_meta(buffer) || newest.pending) return {Positions::kUnknown, {}};
  // Nothing is pending, so this cannot fail.
  const auto found = newest.scaled(said->width, said->height).read();
  return {Positions::kKnown, FaceResult(cropped_faces(*found.value(), *said, now)), true};
}

/// The newest result if it fits the picture; without, says so once a chain.
FaceResult faces_of(const GstCufaceMeta& meta) {
  const FaceRecord& record = *meta.record;
  FacesFound found = place_faces(meta.buffer, record, 0, 0);
  if (found.positions == Positions::kUnknown && record.geometry_warned &&
      !record.geometry_warned->exchange(true))
    GST_WARNING(
        "%s between the face elements and this reader cropped, flipped or padded the picture; the "
        "faces found before it no longer fit and are not delivered: put it in front of the face "
        "elements",
        found.moved_by ? found.moved_by->c_str() : "an element");
  return std::move(found.faces);
}

/// The faces in host memory, null when there are none. False, and a line in the log, where the GPU
/// that has them cannot be read.
bool read_logged(const FaceResult& faces, FaceListRef& list) {
  auto read = faces.read();
  if (!read.ok()) {
    GST_ERROR("faces are lost: %s", read.status().message().c_str());
    return false;
  }
  list = std::move(read.value());
  return true;
}

/// The faces of a snapshot, read by the first who asks; null when there are none, or when they
/// cannot be read: then the next one tries again.
const FaceList* list_of(const GstCufaceFaces* faces) {
  // Nobody sees the snapshot change: the list is what the result says all along.
  auto* cache = const_cast<GstCufaceFaces*>(faces);
  const std::lock_guard lock(cache->mutex);
  if (!cache->list) read_logged(cache->result, cache->list);
  return cache->list.get();
}

const Face* face_at(const GstCufaceFaces* faces, guint index) {
  g_return_val_if_fail(faces, nullptr);
  const FaceList* list = list_of(faces);
  g_return_val_if_fail(list && index < list->faces.size(), nullptr);
  return &list->faces[index];
}

}  // namespace

FaceRecord* get_face_record(GstBuffer* buffer) {
  GstCufaceMeta* meta = get_meta(buffer);
  return meta ? meta->record : nullptr;
}

FaceRecord& ensure_face_record(GstBuffer* buffer) {
  GstCufaceMeta* meta = get_meta(buffer);
  if (!meta) {
    // Metas are copied in their order: behind its witness, the face meta sees whether that passed.
    ensure_witness(buffer);
    meta = reinterpret_cast<GstCufaceMeta*>(gst_buffer_add_meta(buffer, meta_info(), nullptr));
  }
  return *meta->record;
}

void append_faces(GstBuffer* buffer, FaceResult faces) {
  FaceRecord& record = ensure_face_record(buffer);
  set_witness(buffer, frame_geometry(buffer, faces.width, faces.height));
  record.moved_by.reset();
  record.results.push_back(std::move(faces));
}

FacesFound find_faces(GstBuffer* buffer, int width, int height) {
  const FaceRecord* record = get_face_record(buffer);
  if (!record) return {};
  FacesFound found = place_faces(buffer, *record, width, height);
  if (found.faces) found.faces = found.faces.scaled(width, height);
  return found;
}

GstCufaceFaces* make_faces_snapshot(FaceResult faces) {
  auto* snapshot = new GstCufaceFaces{{}, std::move(faces), {}, nullptr};
  g_atomic_ref_count_init(&snapshot->references);
  return snapshot;
}

}  // namespace cuface::gst

using cuface::Face;
using cuface::gst::face_at;
using cuface::gst::list_of;

GType gst_cuface_meta_api_get_type() {
  static const gchar* no_tags[] = {nullptr};
  static const GType type = gst_meta_api_type_register("GstCuFaceMetaAPI", no_tags);
  return type;
}

GType gst_cuface_origin_get_type() {
  static const GEnumValue values[] = {
      {GST_CUFACE_ORIGIN_DETECTED, "GST_CUFACE_ORIGIN_DETECTED", "detected"},
      {GST_CUFACE_ORIGIN_TRACKED, "GST_CUFACE_ORIGIN_TRACKED", "tracked"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstCufaceOrigin", values);
  return type;
}

G_DEFINE_BOXED_TYPE(GstCufaceFaces, gst_cuface_faces, gst_cuface_faces_ref, gst_cuface_faces_unref)

GstCufaceMeta* gst_cuface_buffer_get_face_meta(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  return cuface::gst::get_meta(buffer);
}

guint gst_cuface_meta_get_n_faces(GstCufaceMeta* meta) {
  g_return_val_if_fail(meta, 0);
  cuface::FaceListRef faces;
  cuface::gst::read_logged(cuface::gst::faces_of(*meta), faces);
  return faces ? static_cast<guint>(faces->faces.size()) : 0;
}

GstCufaceFaces* gst_cuface_meta_get_faces(GstCufaceMeta* meta) {
  g_return_val_if_fail(meta, nullptr);
  cuface::FaceListRef faces;  // whoever waits does it here
  if (!cuface::gst::read_logged(cuface::gst::faces_of(*meta), faces)) return nullptr;
  return cuface::gst::make_faces_snapshot(std::move(faces));
}

gboolean gst_cuface_meta_is_ready(GstCufaceMeta* meta) {
  g_return_val_if_fail(meta, FALSE);
  return meta->record->results.empty() || meta->record->results.back().is_ready();
}

GstCufaceFaces* gst_cuface_faces_ref(GstCufaceFaces* faces) {
  g_return_val_if_fail(faces, nullptr);
  g_atomic_ref_count_inc(&faces->references);
  return faces;
}

void gst_cuface_faces_unref(GstCufaceFaces* faces) {
  g_return_if_fail(faces);
  if (g_atomic_ref_count_dec(&faces->references)) delete faces;
}

guint gst_cuface_faces_get_count(const GstCufaceFaces* faces) {
  g_return_val_if_fail(faces, 0);
  const cuface::FaceList* list = list_of(faces);
  return list ? static_cast<guint>(list->faces.size()) : 0;
}

gboolean gst_cuface_faces_get_searched(const GstCufaceFaces* faces) {
  g_return_val_if_fail(faces, FALSE);
  const cuface::FaceList* list = list_of(faces);
  return list && list->searched;
}

guint64 gst_cuface_faces_get_id(const GstCufaceFaces* faces, guint index) {
  const Face* face = face_at(faces, index);
  return face ? face->id : 0;
}

gfloat gst_cuface_faces_get_confidence(const GstCufaceFaces* faces, guint index) {
  const Face* face = face_at(faces, index);
  return face ? face->confidence : 0;
}

GstCufaceOrigin gst_cuface_faces_get_origin(const GstCufaceFaces* faces, guint index) {
  const Face* face = face_at(faces, index);
  return face && face->origin == cuface::Origin::kTracked ? GST_CUFACE_ORIGIN_TRACKED
                                                          : GST_CUFACE_ORIGIN_DETECTED;
}

guint gst_cuface_faces_get_age(const GstCufaceFaces* faces, guint index) {
  const Face* face = face_at(faces, index);
  return face ? static_cast<guint>(face->age) : 0;
}

gint gst_cuface_faces_get_neighbors(const GstCufaceFaces* faces, guint index) {
  const Face* face = face_at(faces, index);
  return face ? face->neighbors : -1;
}

void gst_cuface_faces_get_box(const GstCufaceFaces* faces, guint index, gfloat* x, gfloat* y,
                              gfloat* width, gfloat* height) {
  const Face* face = face_at(faces, index);
  const cuface::Box box = face ? face->box : cuface::Box{};
  const auto w = static_cast<float>(face ? faces->list->width : 1);
  const auto h = static_cast<float>(face ? faces->list->height : 1);
  if (x) *x = box.x / w;
  if (y) *y = box.y / h;
  if (width) *width = box.w / w;
  if (height) *height = box.h / h;
}

guint gst_cuface_faces_get_n_landmarks(const GstCufaceFaces* faces) {
  g_return_val_if_fail(faces, 0);
  const cuface::FaceList* list = list_of(faces);
  return list ? static_cast<guint>(list->landmarks_per_face) : 0;
}

void gst_cuface_faces_get_landmark(const GstCufaceFaces* faces, guint index, guint landmark,
                                   gfloat* x, gfloat* y) {
  if (x) *x = 0;
  if (y) *y = 0;
  if (!face_at(faces, index)) return;
  g_return_if_fail(landmark < gst_cuface_faces_get_n_landmarks(faces));
  const cuface::Point point = faces->list->landmarks_of(index)[landmark];
  if (x) *x = (point.x + 0.5f) / static_cast<float>(faces->list->width);
  if (y) *y = (point.y + 0.5f) / static_cast<float>(faces->list->height);
}
