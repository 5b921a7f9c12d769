// The metas by which results of one kind can be seen from outside: each says that there is one, and
// its functions look it up in the frame meta.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <span>
#include <vector>

namespace cuface::gst {

/// Lives in its buffer's list of metas, so the pointer back is valid as long as the meta is.
struct ViewMeta {
  GstMeta meta;
  GstBuffer* buffer;
};

/// How results of a kind become bytes for another process (serialise.h).
struct Wire {
  bool (*write)(GstBuffer* buffer, std::vector<std::uint8_t>& bytes);
  bool (*read)(GstBuffer* buffer, std::span<const std::uint8_t> bytes);
  std::uint8_t version;
};

/// Registers a meta without tags, which copies share, and makes append_any() add it for results of
/// the kind that its API type names. Returns that. Once for each. With `wire`, which lives as long
/// as the program, and GStreamer 1.24 or later, they travel to other processes.
GType register_view(const char* api, const char* implementation, const Wire* wire = nullptr);

/// The meta of such an API type; null for another type.
const GstMetaInfo* view_of(GType api);

}  // namespace cuface::gst
