// framemeta.h and facemeta.h for whoever does not hold the metas' own code: the plugin, and the
// tests beside it. Every function goes through the library's table, so the meta is registered once
// in a process.
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

FrameRecord* get_frame_record(GstBuffer* buffer) {
  return library().table->get_frame_record(buffer);
}

FrameRecord& ensure_frame_record(GstBuffer* buffer) {
  return *library().table->ensure_frame_record(buffer);
}

void append_any(GstBuffer* buffer, GType kind, AnyResult result, bool has_places) {
  library().table->append_any(buffer, kind, &result, has_places);
}

Placement place_any(GstBuffer* buffer, GType kind, int width, int height) {
  Placement place;
  library().table->place_any(buffer, kind, width, height, &place);
  return place;
}

}  // namespace cuface::gst
