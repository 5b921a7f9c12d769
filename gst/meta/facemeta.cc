#include "gst/meta/facemeta.h"

#include <mutex>
#include <utility>

#include "gst/meta/view.h"

struct _GstCufaceMeta {
  cuface::gst::ViewMeta view;
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

/// The newest result if it fits the picture; without, says so once a chain.
FaceResult faces_of(const GstCufaceMeta& meta) {
  FoundFaces found = find_result<FaceList>(meta.view.buffer, 0, 0);
  const FrameRecord* record = get_frame_record(meta.view.buffer);
  if (found.positions == Positions::kUnknown && record->geometry_warned &&
      !record->geometry_warned->exchange(true))
    GST_WARNING(
        "%s between the face elements and this reader cropped, flipped or padded the picture; the "
        "faces found before it no longer fit and are not delivered: put it in front of the face "
        "elements",
        found.moved_by ? found.moved_by->c_str() : "an element");
  return std::move(found.result);
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
  static const GType type = [] {
    using cuface::gst::cuface_meta_debug;
    GST_DEBUG_CATEGORY_INIT(cuface_meta_debug, "cufacemeta", 0, "face meta of gst-cuface");
    return cuface::gst::register_view("GstCuFaceMetaAPI", "GstCufaceMeta");
  }();
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
  return reinterpret_cast<GstCufaceMeta*>(
      gst_buffer_get_meta(buffer, gst_cuface_meta_api_get_type()));
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
  const auto* record = cuface::gst::get_frame_record(meta->view.buffer);
  const auto* newest = record ? record->newest(gst_cuface_meta_api_get_type()) : nullptr;
  return !newest || newest->result.is_ready();
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
