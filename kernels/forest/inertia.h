// Landmarks of a face that is followed: where the regression finds them, and where the picture has
// carried those of the frame before, weighed by one fixed number. It is a Kalman filter's steady
// state for a point that moves as the optical flow says: the regression's own trembling is averaged
// over some frames, and nothing lags, as the motion is in the prediction. The weight depends on
// nothing that is measured (docs/design/quality.md says why).
//
// One source for the CPU and for CUDA (kernels/common/lanes.h).
#pragma once

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/faces/faces.h"

namespace cuface::forest {

/// A point is far from where it was carried beyond this part of the box's width.
inline constexpr float kFarFromCarried = 0.1f;

/// Whether most of a face's landmarks are far from where they were carried: another face is in its
/// place, or the flow has followed something else. NaN (not carried) is far.
CUFACE_HD inline bool has_jumped(const Point* landmarks, const Point* carried, int n, float width) {
  const float far = kFarFromCarried * width;
  int near = 0;
  for (int i = 0; i < n; ++i) {
    const float dx = landmarks[i].x - carried[i].x, dy = landmarks[i].y - carried[i].y;
    near += dx * dx + dy * dy <= far * far ? 1 : 0;
  }
  return 2 * near < n;
}

CUFACE_HD inline Point with_inertia(Point measured, Point carried, float inertia) {
  return {measured.x + inertia * (carried.x - measured.x),
          measured.y + inertia * (carried.y - measured.y)};
}

/// All faces of a frame: `landmarks` and `carried` have `per_face` points of each. `jumped` has
/// room for a flag a face, visible to all lanes. `inertia` 0..1: the weight of the carried points.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void add_inertia(const Lanes& lanes, const Face* faces, int count, int per_face,
                           const Point* carried, Point* landmarks, float inertia, bool* jumped) {
  lanes.each(count, [&](int f) {
    jumped[f] =
        has_jumped(landmarks + f * per_face, carried + f * per_face, per_face, faces[f].box.w);
  });
  lanes.each(count * per_face, [&](int k) {
    if (!jumped[k / per_face]) landmarks[k] = with_inertia(landmarks[k], carried[k], inertia);
  });
}

}  // namespace cuface::forest
