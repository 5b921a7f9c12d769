#include "gst/meta/snapshot.h"

#include <mutex>

namespace cuface::gst {
namespace {

GST_DEBUG_CATEGORY_STATIC(cuface_meta_debug);
#define GST_CAT_DEFAULT cuface_meta_debug

}  // namespace

void init_meta_log() {
  static std::once_flag once;
  std::call_once(once, [] {
    GST_DEBUG_CATEGORY_INIT(cuface_meta_debug, "cufacemeta", 0, "metas of gst-cuface");
  });
}

void warn_of_lost_places(const FrameRecord& record, const std::string* moved_by, const char* kind) {
  if (!record.geometry_warned || record.geometry_warned->exchange(true)) return;
  GST_WARNING(
      "%s between the %s elements and this reader cropped, flipped or padded the picture; what "
      "they found no longer fits and is not delivered: put it in front of them",
      moved_by ? moved_by->c_str() : "an element", kind);
}

void log_unreadable(const Status& status, const char* kind) {
  GST_ERROR("results of the %s elements are lost: %s", kind, status.message().c_str());
}

}  // namespace cuface::gst
