// How results of a kind travel to another process: GstMeta's serialisation, from GStreamer 1.24 on.
// The library's alone.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <span>
#include <vector>

#include "gst/meta/view.h"
#include "gst/meta/wire.h"
#include "gst/meta/witness.h"

namespace cuface::gst {

/// The size of the picture that the result lies in, and the result. False where there is none that
/// fits the buffer's picture, and behind a crop rectangle, which does not travel. Waits for a GPU.
template <typename T>
bool write_result(GstBuffer* buffer, std::vector<std::uint8_t>& bytes) {
  const Witness* witness = find_witness(buffer);
  if (!witness || gst_buffer_get_video_crop_meta(buffer)) return false;
  const FrameGeometry& picture = witness->picture;
  const auto read = find_result<T>(buffer, picture.width, picture.height).result.read();
  if (!read.ok() || !read.value()) return false;
  bytes = size_bytes(picture.width, picture.height);
  const auto result = to_bytes(*read.value());
  bytes.insert(bytes.end(), result.begin(), result.end());
  return true;
}

/// False, and the buffer is as it was, where the bytes are none of write_result().
template <typename T>
bool read_result(GstBuffer* buffer, std::span<const std::uint8_t> bytes) {
  const auto [width, height] = take_size(bytes);
  if (width == 0) return false;
  auto result = from_bytes<T>(bytes);
  if (!result) return false;
  append_result<T>(buffer, FrameResult<T>(std::move(result), width, height));
  return true;
}

/// Null if GStreamer cannot serialise metas; then the library has no code of wire.h.
template <typename T>
const Wire* wire_for() {
#if GST_CHECK_VERSION(1, 24, 0)
  static constexpr Wire kWire{write_result<T>, read_result<T>, kWireVersion};
  return &kWire;
#else
  return nullptr;
#endif
}

}  // namespace cuface::gst
