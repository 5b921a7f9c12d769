// The faces of one frame as they live in device memory: what FaceList is to the CPU stages.
//
// Counts stay on the device: a stage launches for the greatest number and its blocks return at once
// where there is no face [S0.02]. A stage that finds nothing writes its counts all the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/faces/faces.h"

namespace cuface::cuda {

inline constexpr int kMaxFaces = 64;

/// One allocation: this header, then kMaxFaces * landmarks points and as many confidences: these
/// begin where the points of `count` faces end. Copied to the host as it is.
struct DeviceFaces {
  std::int32_t count;               ///< faces, 0..kMaxFaces
  std::int32_t landmarks_per_face;  ///< 0 = none yet
  std::int32_t searched;            ///< a detector searched this frame
  std::int32_t overflow;       ///< the search had more than kMaxRawWindows windows, and is "none"
  std::int32_t lost;           ///< tracks that ended on this frame
  SearchRegion search_wanted;  ///< by the tracker, of the next frame; count 0 = nothing
  std::uint64_t frame;         ///< the chain's number of the frame, for checks
  /// As of FaceList. While it is not 0 there are no landmarks, and these points lie in their place.
  std::int32_t followed_per_face;
  std::int32_t has_confidences;  ///< of the landmarks, as of FaceList
  SearchRegion part;             ///< as of FaceList
  Face faces[kMaxFaces];

  CUFACE_HD Point* landmarks() { return reinterpret_cast<Point*>(this + 1); }
  CUFACE_HD const Point* landmarks() const { return reinterpret_cast<const Point*>(this + 1); }
  /// Of `faces` in all, each with so many landmarks.
  CUFACE_HD float* confidences(int faces, int each) {
    return reinterpret_cast<float*>(landmarks() + faces * each);
  }
  CUFACE_HD const float* confidences(int faces, int each) const {
    return reinterpret_cast<const float*>(landmarks() + faces * each);
  }
  /// Null where they are not known.
  CUFACE_HD const float* confidences_of(int face) const {
    if (!has_confidences) return nullptr;
    return confidences(count, landmarks_per_face) + face * landmarks_per_face;
  }
  CUFACE_HD Point* landmarks_of(int face) { return landmarks() + face * landmarks_per_face; }
  CUFACE_HD const Point* landmarks_of(int face) const {
    return landmarks() + face * landmarks_per_face;
  }
};

/// Points of each face that lie behind the header: landmarks, or followed ones.
CUFACE_HD inline int points_per_face(const DeviceFaces& faces) {
  return faces.landmarks_per_face > 0 ? faces.landmarks_per_face : faces.followed_per_face;
}

/// Bytes to allocate for faces with up to `landmarks` points each.
constexpr std::size_t device_faces_bytes(int landmarks) {
  return sizeof(DeviceFaces) +
         (sizeof(Point) + sizeof(float)) * kMaxFaces * static_cast<std::size_t>(landmarks);
}

}  // namespace cuface::cuda
