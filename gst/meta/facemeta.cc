#include "gst/meta/facemeta.h"

#include <cmath>
#include <utility>

#include "gst/meta/serialise.h"
#include "gst/meta/snapshot.h"
#include "gst/meta/view.h"
#include "gst/meta/wire.h"

namespace {
constexpr const char* kKind = "face";
}

struct _GstCufaceMeta {
  cuface::gst::ViewMeta view;
};

struct _GstCufaceFaces : cuface::gst::Snapshot<cuface::FaceList> {
  using Snapshot::Snapshot;
};

namespace cuface::gst {
namespace {

/// False where the faces of a buffer cannot be read.
bool read_faces(const GstCufaceMeta& meta, FaceListRef& list) {
  return read_logged(fitting_result<FaceList>(meta.view.buffer, kKind), kKind, list);
}

const Face* face_at(const GstCufaceFaces* faces, guint index) {
  g_return_val_if_fail(faces, nullptr);
  const FaceList* list = faces->value();
  g_return_val_if_fail(list && index < list->faces.size(), nullptr);
  return &list->faces[index];
}

void write_normalised(const FaceList& list, Point point, gfloat* x, gfloat* y) {
  if (x) *x = (point.x + 0.5f) / static_cast<float>(list.width);
  if (y) *y = (point.y + 0.5f) / static_cast<float>(list.height);
}

/// The faces of a buffer for one more: in place where nobody else has them, else a copy. Null where
/// none can be added.
std::shared_ptr<FaceList> faces_to_extend(GstBuffer* buffer, int width, int height,
                                          bool& in_place) {
  auto found = find_result<FaceList>(buffer, width, height);
  if (found.positions == Positions::kUnknown) return nullptr;
  auto read = found.result.read();
  if (!read.ok()) return nullptr;
  FaceListRef faces = std::move(read.value());
  if (!faces) return std::make_shared<FaceList>();
  if (faces->landmarks_per_face > 0 || faces->faces.size() >= kMostWireFaces) return nullptr;
  found.result = {};
  constexpr long kBuffersAndOurs = 2;
  in_place = faces.use_count() == kBuffersAndOurs &&
             get_frame_record(buffer)->results.back().result.value == faces;
  if (in_place) return std::const_pointer_cast<FaceList>(faces);
  return std::make_shared<FaceList>(*faces);
}

bool add_face(GstBuffer* buffer, int width, int height, const Face& face) {
  bool in_place = false;
  const auto list = faces_to_extend(buffer, width, height, in_place);
  if (!list) return false;
  list->width = width;
  list->height = height;
  list->searched = true;
  list->faces.push_back(face);
  if (!in_place) append_result<FaceList>(buffer, FaceListRef(list));
  return true;
}

}  // namespace
}  // namespace cuface::gst

using cuface::Face;
using cuface::gst::face_at;
using cuface::gst::write_normalised;

GType gst_cuface_meta_api_get_type() {
  static const GType type = [] {
    cuface::gst::init_meta_log();
    return cuface::gst::register_view("GstCuFaceMetaAPI", "GstCufaceMeta",
                                      cuface::gst::wire_for<cuface::FaceList>());
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

void gst_cuface_register_metas() {
  gst_cuface_meta_api_get_type();
  gst_cuface_motion_meta_api_get_type();
  gst_cuface_edge_meta_api_get_type();
  gst_cuface_feature_meta_api_get_type();
  gst_cuface_match_meta_api_get_type();
  gst_cuface_planar_meta_api_get_type();
}

gboolean gst_cuface_buffer_add_face(GstBuffer* buffer, guint frame_width, guint frame_height,
                                    gfloat x, gfloat y, gfloat width, gfloat height,
                                    gfloat confidence) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), FALSE);
  const bool in_range = frame_width >= 1 && frame_width <= cuface::gst::kMostWireSide &&
                        frame_height >= 1 && frame_height <= cuface::gst::kMostWireSide &&
                        std::isfinite(x) && std::isfinite(y) && width > 0 && height > 0 &&
                        std::isfinite(width) && std::isfinite(height) && confidence >= 0 &&
                        confidence <= 1;
  if (!in_range || !gst_buffer_is_writable(buffer)) return FALSE;
  const auto w = static_cast<float>(frame_width), h = static_cast<float>(frame_height);
  Face face;
  face.confidence = confidence;
  face.box = {x * w, y * h, width * w, height * h};
  return cuface::gst::add_face(buffer, static_cast<int>(frame_width),
                               static_cast<int>(frame_height), face);
}

guint gst_cuface_meta_get_n_faces(GstCufaceMeta* meta) {
  g_return_val_if_fail(meta, 0);
  cuface::FaceListRef faces;
  cuface::gst::read_faces(*meta, faces);
  return faces ? static_cast<guint>(faces->faces.size()) : 0;
}

GstCufaceFaces* gst_cuface_meta_get_faces(GstCufaceMeta* meta) {
  g_return_val_if_fail(meta, nullptr);
  cuface::FaceListRef faces;  // whoever waits does it here
  if (!cuface::gst::read_faces(*meta, faces)) return nullptr;
  return new GstCufaceFaces(std::move(faces));
}

gboolean gst_cuface_meta_is_ready(GstCufaceMeta* meta) {
  g_return_val_if_fail(meta, FALSE);
  const auto* record = cuface::gst::get_frame_record(meta->view.buffer);
  const auto* newest = record ? record->newest(gst_cuface_meta_api_get_type()) : nullptr;
  return !newest || newest->result.is_ready();
}

GstCufaceFaces* gst_cuface_faces_ref(GstCufaceFaces* faces) {
  g_return_val_if_fail(faces, nullptr);
  faces->ref();
  return faces;
}

void gst_cuface_faces_unref(GstCufaceFaces* faces) {
  g_return_if_fail(faces);
  if (faces->unref()) delete faces;
}

guint gst_cuface_faces_get_count(const GstCufaceFaces* faces) {
  g_return_val_if_fail(faces, 0);
  const cuface::FaceList* list = faces->value();
  return list ? static_cast<guint>(list->faces.size()) : 0;
}

gboolean gst_cuface_faces_get_searched(const GstCufaceFaces* faces) {
  g_return_val_if_fail(faces, FALSE);
  const cuface::FaceList* list = faces->value();
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
  const auto w = static_cast<float>(face ? faces->value()->width : 1);
  const auto h = static_cast<float>(face ? faces->value()->height : 1);
  if (x) *x = box.x / w;
  if (y) *y = box.y / h;
  if (width) *width = box.w / w;
  if (height) *height = box.h / h;
}

guint gst_cuface_faces_get_n_landmarks(const GstCufaceFaces* faces) {
  g_return_val_if_fail(faces, 0);
  const cuface::FaceList* list = faces->value();
  return list ? static_cast<guint>(list->landmarks_per_face) : 0;
}

void gst_cuface_faces_get_landmark(const GstCufaceFaces* faces, guint index, guint landmark,
                                   gfloat* x, gfloat* y) {
  if (x) *x = 0;
  if (y) *y = 0;
  if (!face_at(faces, index)) return;
  g_return_if_fail(landmark < gst_cuface_faces_get_n_landmarks(faces));
  write_normalised(*faces->value(), faces->value()->landmarks_of(index)[landmark], x, y);
}

gfloat gst_cuface_faces_get_landmark_confidence(const GstCufaceFaces* faces, guint index,
                                                guint landmark) {
  if (!face_at(faces, index)) return -1;
  g_return_val_if_fail(landmark < gst_cuface_faces_get_n_landmarks(faces), -1);
  const float* confidences = faces->value()->confidences_of(index);
  return confidences ? confidences[landmark] : -1;
}

guint gst_cuface_faces_get_n_keypoints(const GstCufaceFaces* faces, guint index) {
  const Face* face = face_at(faces, index);
  return face && face->has_keypoints ? cuface::kFaceKeypoints : 0;
}

void gst_cuface_faces_get_keypoint(const GstCufaceFaces* faces, guint index, guint keypoint,
                                   gfloat* x, gfloat* y) {
  if (x) *x = 0;
  if (y) *y = 0;
  const Face* face = face_at(faces, index);
  if (!face) return;
  g_return_if_fail(keypoint < gst_cuface_faces_get_n_keypoints(faces, index));
  write_normalised(*faces->value(), face->keypoints[keypoint], x, y);
}
