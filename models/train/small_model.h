// The model of five points that a training of 68 makes besides: corners of the eyes and the base of
// the nose, in dlib's order, from the same faces.
#pragma once

#include "kernels/common/status.h"
#include "kernels/grow/grow.h"
#include "models/train/face_set.h"

namespace cuface::train {

/// Of iBUG's 68, as eyes_of(5) has them (kernels/faces/landmark_scheme.h).
inline constexpr int kFiveOfSixtyEight[] = {45, 42, 36, 39, 33};
/// A .cuface file with these options has at most so many bytes.
inline constexpr std::size_t kMostSmallBytes = 1'000'000;

/// The same faces with five points; takes the pictures over. `set` has 68.
FaceSet with_five_points(FaceSet& set);

/// The same options with as many trees a stage as fit kMostSmallBytes, and one at least.
ForestOptions small_options(ForestOptions options);

}  // namespace cuface::train
