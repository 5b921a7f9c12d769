// Landmarks on a frame whose picture says nothing. One source for the CPU and for CUDA.
#pragma once

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/faces/faces.h"

namespace cuface::forest {

/// The place among `count` faces of the one with this id, or -1; nobody has the id 0.
CUFACE_HD inline int place_of(std::uint64_t id, const Face* faces, int count) {
  for (int i = 0; id != 0 && i < count; ++i)
    if (faces[i].id == id) return i;
  return -1;
}

/// Gives the faces that the frame before had too the landmarks that they had there, or what else is
/// known of each landmark; those of the others stay. Both lists have `per_face` landmarks a face,
/// and do not overlap.
CUFACE_HD_GENERIC
template <typename Lanes, typename T>
CUFACE_HD void keep_landmarks(const Lanes& lanes, const Face* before, int count_before,
                              const T* landmarks_before, const Face* faces, int count, int per_face,
                              T* landmarks) {
  lanes.each(count * per_face, [&](int k) {
    const int place = place_of(faces[k / per_face].id, before, count_before);
    if (place >= 0) landmarks[k] = landmarks_before[place * per_face + k % per_face];
  });
}

}  // namespace cuface::forest
