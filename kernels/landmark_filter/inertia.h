// Landmarks of a face that is followed: where the regression finds them, and where the picture has
// carried those of the frame before. It is a Kalman filter's steady state for a point that moves
// with the optical flow. It averages the regression's jitter over some frames, without lag, because
// the prediction has the motion. The further a point is carried the less it counts: flow is worse
// there, and a contour is no point of the head. The weight depends on nothing else that is measured
// (docs/design/quality.md says why).
//
// One source for the CPU and for CUDA (kernels/common/lanes.h).
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/lanes.h"
#include "kernels/faces/faces.h"
#include "kernels/landmark_filter/face_memory.h"
#include "kernels/landmarks/landmarks.h"

namespace cuface {

/// Each face's landmarks of the frame before. Zeros know no face.
struct InertiaState {
  static constexpr int kFaces = forest::kSlots;
  std::uint64_t id[kFaces] = {};  ///< 0 = free
  Point place[kFaces][kMaxLandmarks];
};

namespace forest {

/// A point is far from where it was carried beyond this part of the box's width.
inline constexpr float kFarFromCarried = 0.1f;

/// A point that was carried this part of the box's width since the frame before counts half.
inline constexpr float kHalfInertia = 0.0125f;

/// What the lanes share.
struct InertiaScratch {
  FaceMemory slots;
  bool jumped[kSlots];
};

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

/// The weight of a point that was carried from `before`, of a box `width` > 0 wide.
CUFACE_HD inline float weight_of_carried(Point before, Point carried, float width, float inertia) {
  const float dx = carried.x - before.x, dy = carried.y - before.y;
  const float half = kHalfInertia * width;
  return inertia * (half / (half + std::sqrt(dx * dx + dy * dy)));
}

CUFACE_HD inline Point with_inertia(Point measured, Point carried, float inertia) {
  return {measured.x + inertia * (carried.x - measured.x),
          measured.y + inertia * (carried.y - measured.y)};
}

/// All faces of a frame: `landmarks` and `carried` have `per_face` points of each. The first kSlots
/// faces count; up to kMaxLandmarks points a face. `carried` null: nobody was, and all is
/// forgotten. `inertia` 0..1: the weight of the carried points of a face at rest. `scratch` is
/// visible to all lanes.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void add_inertia(const Lanes& lanes, InertiaState& state, const Face* faces, int count,
                           int per_face, const Point* carried, Point* landmarks, float inertia,
                           InertiaScratch& scratch) {
  const int some = count < kSlots ? count : kSlots;
  lanes.each(some, [&](int f) {
    scratch.jumped[f] = !carried || has_jumped(landmarks + f * per_face, carried + f * per_face,
                                               per_face, faces[f].box.w);
  });
  assign_slots(lanes, state.id, faces, some, scratch.slots);
  lanes.each(some * per_face, [&](int k) {
    const int face = k / per_face, i = k % per_face, slot = scratch.slots.slot[face];
    const bool known = slot >= 0 && !scratch.slots.fresh[face];
    if (!scratch.jumped[face]) {
      const Point before = known ? state.place[slot][i] : carried[k];
      landmarks[k] =
          with_inertia(landmarks[k], carried[k],
                       weight_of_carried(before, carried[k], faces[face].box.w, inertia));
    }
    if (slot >= 0) state.place[slot][i] = landmarks[k];
  });
}

}  // namespace forest
}  // namespace cuface
