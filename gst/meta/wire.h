// Results as bytes, for another process: what GStreamer's serialisation of metas carries
// (serialise.cc).
//
// Little-endian on every machine. The reader trusts nothing. It rejects a length beyond the bytes,
// a number that is not finite or out of range, and bytes left over. Nothing larger than the bytes
// is allocated before they are known to be there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gst/meta/edges.h"
#include "gst/meta/facemeta.h"
#include "gst/meta/keypoints.h"
#include "gst/meta/matches.h"
#include "gst/meta/motion.h"
#include "gst/meta/planar.h"

namespace cuface::gst {

/// Counted up where the layout changes; others are not read.
inline constexpr std::uint8_t kWireVersion = 3;
/// Most of what one result may have.
inline constexpr std::uint32_t kMostWireFaces = 1 << 14, kMostWireLandmarks = 1024,
                               kMostWireSide = 1 << 15, kMostWirePictures = 1 << 12;
/// Largest magnitude of any number, so that numbers stay finite when scaled to another picture.
inline constexpr float kMostWireNumber = 1e30f;

/// T is FaceList, MotionMap, Edges, FrameFeatures, FrameMatches or FramePlanar. Data of faces that
/// only the tracker needs (followed points, the searched part of a picture) are left out.
template <typename T>
std::vector<std::uint8_t> to_bytes(const T& result);

/// Null where the bytes are no such result.
template <typename T>
std::shared_ptr<const T> from_bytes(std::span<const std::uint8_t> bytes);

/// The size of a picture, before a result; take_size() removes it, and gives 0 where there is none.
std::vector<std::uint8_t> size_bytes(int width, int height);
std::pair<int, int> take_size(std::span<const std::uint8_t>& bytes);

}  // namespace cuface::gst
