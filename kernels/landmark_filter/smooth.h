// Landmarks smoothed in time by the One-Euro filter (Casiez, Roussel and Vogel, CHI 2012) on each
// point. Speeds are in eye distances a second, so near and far faces are treated alike. The result
// is mixed with the frame before, which removes jitter between two frames. A slow point is averaged
// over many frames, a fast one hardly. A filter lags. So each point first moves with its face,
// whose motion all points give well, and only the rest of its motion is filtered. The weight of a
// measurement depends only on that speed (docs/design/quality.md says why).
//
// One source for the CPU and for CUDA (kernels/common/lanes.h).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/lanes.h"
#include "kernels/faces/faces.h"
#include "kernels/landmark_filter/face_memory.h"
#include "kernels/landmarks/landmarks.h"
#include "kernels/similarity/fit.h"

namespace cuface {

/// The state of each face, kept until a frame without it. Zeros know no face.
struct SmoothState {
  static constexpr int kFaces = forest::kSlots;
  std::uint64_t id[kFaces] = {};  ///< 0 = free
  Point place[kFaces][kMaxLandmarks];
  Point speed[kFaces][kMaxLandmarks];     ///< px/s, beside the face's
  Point measured[kFaces][kMaxLandmarks];  ///< of the frame before
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

/// The part of a face's motion that its points go with.
inline constexpr float kWithFace = 0.85f;

/// `motion`: of the face since the frame before.
CUFACE_HD inline Point smooth_point(Point measured, const Similarity& motion, Point& place,
                                    Point& speed, double seconds, double eye_distance,
                                    float smooth) {
  constexpr double kSpeedHertz = 1, kFaster = 5;
  constexpr float kMostOfBefore = 0.5f, kOfBefore = 0.7f;
  const Point before = place, moved = motion.apply(before);
  const Point expected{before.x + kWithFace * (moved.x - before.x),
                       before.y + kWithFace * (moved.y - before.y)};
  const double weight = low_pass_weight(kSpeedHertz, seconds);
  const double vx = filtered(speed.x, (measured.x - expected.x) / seconds, weight);
  const double vy = filtered(speed.y, (measured.y - expected.y) / seconds, weight);
  const double hertz = (1 + kFaster * (std::sqrt(vx * vx + vy * vy) / eye_distance)) / smooth;
  const double new_weight = low_pass_weight(hertz, seconds);
  speed = {static_cast<float>(vx), static_cast<float>(vy)};
  place = {static_cast<float>(filtered(expected.x, measured.x, new_weight)),
           static_cast<float>(filtered(expected.y, measured.y, new_weight))};
  const float share = kOfBefore * smooth < kMostOfBefore ? kOfBefore * smooth : kMostOfBefore;
  return {place.x + share * (before.x - place.x), place.y + share * (before.y - place.y)};
}

/// What the lanes share.
struct SmoothScratch {
  FaceMemory slots;
  Similarity motion[kSlots];  // of each face since the frame before
};

/// Smooths the landmarks of all faces with an id, each of another. The first kFaces faces count;
/// up to kMaxLandmarks points a face. `seconds` > 0 since the frame before, `smooth` > 0. `slots`
/// is visible to all lanes.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void smooth_landmarks(const Lanes& lanes, SmoothState& state, const Face* faces,
                                Point* landmarks, int count, int per_face, double seconds,
                                float smooth, SmoothScratch& scratch) {
  // The outer eye corners are about half the width of a detector's box apart.
  constexpr double kEyes = 0.5;
  const int some = count < SmoothState::kFaces ? count : SmoothState::kFaces;
  assign_slots(lanes, state.id, faces, some, scratch.slots);
  const auto n = static_cast<std::size_t>(per_face);
  lanes.each(some, [&](int f) {
    const int slot = scratch.slots.slot[f];
    scratch.motion[f] = {};
    if (slot < 0 || scratch.slots.fresh[f]) return;
    similarity::fit({state.measured[slot], n}, {landmarks + f * per_face, n}, nullptr,
                    scratch.motion[f]);
  });
  lanes.each(some * per_face, [&](int k) {
    const int face = k / per_face, i = k % per_face, slot = scratch.slots.slot[face];
    if (slot < 0) return;
    Point &place = state.place[slot][i], &speed = state.speed[slot][i];
    state.measured[slot][i] = landmarks[k];
    if (scratch.slots.fresh[face]) {
      place = landmarks[k];
      speed = {0, 0};
    } else {
      landmarks[k] = smooth_point(landmarks[k], scratch.motion[face], place, speed, seconds,
                                  kEyes * faces[face].box.w, smooth);
    }
  });
}

}  // namespace forest
}  // namespace cuface
