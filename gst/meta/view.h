// The metas by which results of one kind can be seen from outside: each says that there is one, and
// its functions look it up in the frame meta.
#pragma once

#include <gst/gst.h>

namespace cuface::gst {

/// Lives in its buffer's list of metas, so the pointer back is valid as long as the meta is.
struct ViewMeta {
  GstMeta meta;
  GstBuffer* buffer;
};

/// Registers a meta without tags, which copies share, and makes append_any() add it for results of
/// the kind that its API type names. Returns that. Once for each.
GType register_view(const char* api, const char* implementation);

/// The meta of such an API type; null for another type.
const GstMetaInfo* view_of(GType api);

}  // namespace cuface::gst
