// Landmarks smoothed in time: the One-Euro filter (Casiez, Roussel and Vogel, CHI 2012) on each
// point, in eye distances a second so that it treats near and far faces alike. A slow point is
// averaged over a while, a fast one hardly. How much a measurement counts depends on nothing but
// that speed (docs/design/quality.md says why).
//
// One source for the CPU and for CUDA (kernels/common/lanes.h).
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/lanes.h"
#include "kernels/faces/faces.h"
#include "kernels/forest/face_slots.h"
#include "kernels/forest/forest.h"

namespace cuface {

/// What is remembered of each face until a frame without it. Zeros know no face.
struct SmoothState {
  static constexpr int kFaces = forest::kSlots;
  std::uint64_t id[kFaces] = {};  ///< 0 = free
  Point place[kFaces][kMaxLandmarks];
  Point speed[kFaces][kMaxLandmarks];  ///< px/s
};

namespace forest {

/// The weight of a new value in a low-pass filter.
CUFACE_HD inline double low_pass_weight(double hertz, double seconds) {
  constexpr double kTurn = 6.283185307179586;
  const double turns = kTurn * hertz * seconds;
  return turns / (turns + 1);
}

CUFACE_HD inline double filtered(float before, double now, double weight) {
  return before + weight * (now - before);
}

CUFACE_HD inline Point smooth_point(Point measured, Point& place, Point& speed, double seconds,
                                    double eye_distance, float smooth) {
  constexpr double kSpeedHertz = 1;
  const double weight = low_pass_weight(kSpeedHertz, seconds);
  const double vx = filtered(speed.x, (measured.x - place.x) / seconds, weight);
  const double vy = filtered(speed.y, (measured.y - place.y) / seconds, weight);
  const double hertz = (1 + 10 * (std::sqrt(vx * vx + vy * vy) / eye_distance)) / smooth;
  const double new_weight = low_pass_weight(hertz, seconds);
  speed = {static_cast<float>(vx), static_cast<float>(vy)};
  place = {static_cast<float>(filtered(place.x, measured.x, new_weight)),
           static_cast<float>(filtered(place.y, measured.y, new_weight))};
  return place;
}

/// Smooths the landmarks of all faces with an id, each of another. The first kFaces faces count;
/// up to kMaxLandmarks points a face. `seconds` > 0 since the frame before, `smooth` > 0. `slots`
/// is visible to all lanes.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void smooth_landmarks(const Lanes& lanes, SmoothState& state, const Face* faces,
                                Point* landmarks, int count, int per_face, double seconds,
                                float smooth, FaceSlots& slots) {
  // The outer eye corners are about half the width of a detector's box apart.
  constexpr double kEyes = 0.5;
  const int some = count < SmoothState::kFaces ? count : SmoothState::kFaces;
  assign_slots(lanes, state.id, faces, some, slots);
  lanes.each(some * per_face, [&](int k) {
    const int face = k / per_face, i = k % per_face, slot = slots.slot[face];
    if (slot < 0) return;
    Point &place = state.place[slot][i], &speed = state.speed[slot][i];
    if (slots.fresh[face]) {
      place = landmarks[k];
      speed = {0, 0};
    } else {
      landmarks[k] =
          smooth_point(landmarks[k], place, speed, seconds, kEyes * faces[face].box.w, smooth);
    }
  });
}

}  // namespace forest
}  // namespace cuface
