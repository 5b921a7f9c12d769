// The library's side of the table.
#include "gst/meta/internal.h"

#include <utility>

namespace cuface::gst {
namespace {

constexpr GstCufaceInternal kTable = {
    .get_frame_record = get_frame_record,
    .ensure_frame_record = [](GstBuffer* buffer) { return &ensure_frame_record(buffer); },
    .append_any = [](GstBuffer* buffer, GType kind, AnyResult* result,
                     bool has_places) { append_any(buffer, kind, std::move(*result), has_places); },
    .place_any = [](GstBuffer* buffer, GType kind, int width, int height,
                    Placement* place) { *place = place_any(buffer, kind, width, height); },
};

}  // namespace
}  // namespace cuface::gst

const GstCufaceInternal* gst_cuface_get_internal(guint version, const gchar** library) {
  static const std::string text = cuface::gst::internal_version_text();
  *library = text.c_str();
  return version == cuface::gst::internal_version() ? &cuface::gst::kTable : nullptr;
}
