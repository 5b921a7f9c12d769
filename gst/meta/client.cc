// facemeta.h for whoever does not hold the face meta's own code: the plugin, and the tests beside
// it. Every function goes through the library's table, so the meta is registered once in a process.
#include <utility>

#include "gst/meta/facemeta.h"
#include "gst/meta/internal.h"

namespace cuface::gst {
namespace {

struct Library {
  const GstCufaceInternal* table;
  const gchar* version;
};

const Library& library() {
  static const Library found = [] {
    Library asked{};
    asked.table = gst_cuface_get_internal(internal_version(), &asked.version);
    return asked;
  }();
  return found;
}

}  // namespace

std::string library_mismatch() {
  if (library().table) return "";
  return "the plugin is of gst-cuface " + internal_version_text() +
         ", but its library libgstcuface-1.0.so.0 is of gst-cuface " + library().version +
         "; install both from one build";
}

FaceRecord* get_face_record(GstBuffer* buffer) { return library().table->get_face_record(buffer); }

FaceRecord& ensure_face_record(GstBuffer* buffer) {
  return *library().table->ensure_face_record(buffer);
}

void append_faces(GstBuffer* buffer, FaceResult faces) {
  library().table->append_faces(buffer, &faces);
}

FacesFound find_faces(GstBuffer* buffer, int width, int height) {
  FacesFound found;
  library().table->find_faces(buffer, width, height, &found);
  return found;
}

GstCufaceFaces* make_faces_snapshot(FaceResult faces) {
  return library().table->make_faces_snapshot(&faces);
}

}  // namespace cuface::gst
