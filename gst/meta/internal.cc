// The library's side of the table.
#include "gst/meta/internal.h"

#include <utility>

namespace cuface::gst {
namespace {

constexpr GstCufaceInternal kTable = {
    .get_face_record = get_face_record,
    .ensure_face_record = [](GstBuffer* buffer) { return &ensure_face_record(buffer); },
    .append_faces = [](GstBuffer* buffer,
                       FaceResult* faces) { append_faces(buffer, std::move(*faces)); },
    .find_faces = [](GstBuffer* buffer, int width, int height,
                     FacesFound* found) { *found = find_faces(buffer, width, height); },
    .make_faces_snapshot = [](FaceResult* faces) { return make_faces_snapshot(std::move(*faces)); },
};

}  // namespace
}  // namespace cuface::gst

const GstCufaceInternal* gst_cuface_get_internal(guint version, const gchar** library) {
  static const std::string text = cuface::gst::internal_version_text();
  *library = text.c_str();
  return version == cuface::gst::internal_version() ? &cuface::gst::kTable : nullptr;
}
