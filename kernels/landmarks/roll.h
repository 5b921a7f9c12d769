// How far each face's head is turned in the picture, remembered from frame to frame by its id, so
// that the forest, which knows upright faces only, sees it upright. One source for the CPU and
// CUDA.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/faces/faces.h"
#include "kernels/landmarks/head_box.h"

namespace cuface {

/// The rolls of one frame's faces. Zeros know no face.
struct RollState {
  static constexpr int kFaces = 64;
  int count = 0;
  std::uint64_t id[kFaces] = {};
  Roll roll[kFaces];
};

namespace forest {

/// A stage of a cascade finds no face turned further from the angle it looks at: then the memory is
/// wrong.
inline constexpr float kMostDetectedSine = 0.5f;

/// Whether a face that a search has found may be turned as it is remembered. A network finds heads
/// at any angle, but its points turn less than the head: the memory may be further from upright.
CUFACE_HD inline bool may_be_turned(const Face& face, const Roll& known) {
  const float cos = face.roll.cos * known.cos + face.roll.sin * known.sin;
  const float sin = face.roll.cos * known.sin - face.roll.sin * known.cos;
  const bool further = face.has_keypoints && face.roll.sin * sin > 0;
  return cos > 0 && (further || std::fabs(sin) <= kMostDetectedSine);
}

/// The roll to look for a face's landmarks with; the detector's for a face that is not known.
CUFACE_HD inline Roll recall_roll(const RollState& state, const Face& face) {
  for (int i = 0; i < state.count && face.id != 0; ++i) {
    if (state.id[i] != face.id) continue;
    const Roll& known = state.roll[i];
    return face.origin != Origin::kDetected || may_be_turned(face, known) ? known : face.roll;
  }
  return face.roll;
}

CUFACE_HD inline bool is_known(const RollState& state, const Face& face) {
  for (int i = 0; i < state.count && face.id != 0; ++i)
    if (state.id[i] == face.id) return true;
  return false;
}

/// The roll that best turns the mean shape into these landmarks.
CUFACE_HD inline Roll roll_of(std::span<const Point> mean, std::span<const Point> landmarks) {
  HeadBox head;
  return fit_head(mean, landmarks, head) ? head.roll : Roll{};
}

/// Remembers the rolls of the first kFaces faces and forgets all others.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void remember_rolls(const Lanes& lanes, RollState& state, const Face* faces,
                              const Point* landmarks, int count, std::span<const Point> mean) {
  const int some = count < RollState::kFaces ? count : RollState::kFaces;
  lanes.each(some, [&](int f) {
    state.id[f] = faces[f].id;
    state.roll[f] =
        roll_of(mean, {landmarks + static_cast<std::size_t>(f) * mean.size(), mean.size()});
  });
  lanes.once([&] { state.count = some; });
}

}  // namespace forest
}  // namespace cuface
