// What the landmarks of a face stand for, by how many there are: 68 of iBUG, 5 of dlib. A model
// with another scheme works; its eyes are not known, and its points are drawn without lines.
// Whoever adds a scheme adds it here, and nowhere else: kernels/detect/verify.h reads the eyes, and
// kernels/overlay/strokes.h the lines.
#pragma once

#include "kernels/common/host_device.h"

namespace cuface {

/// The places of both eyes among the points; count 0 where the scheme is not known.
struct Eyes {
  int left = 0, right = 0, count = 0;  ///< first points, and how many of each
};
CUFACE_HD inline Eyes eyes_of(int points) {
  if (points == 68) return {36, 42, 6};
  if (points == 5) return {2, 0, 2};
  return {};
}

/// Points `first` to `last`, both with, that a line joins; closed: back to the first.
struct LandmarkCurve {
  int first, last;
  bool closed;
};
CUFACE_HD inline int curve_count(int points) { return points == 68 ? 9 : 0; }
/// 0 <= i < curve_count(points).
CUFACE_HD inline LandmarkCurve curve_of(int points, int i) {
  constexpr LandmarkCurve kCurves68[] = {
      {0, 16, false}, {17, 21, false}, {22, 26, false}, {27, 30, false}, {31, 35, false},
      {36, 41, true}, {42, 47, true},  {48, 59, true},  {60, 67, true},
  };
  return points == 68 ? kCurves68[i] : LandmarkCurve{};
}

}  // namespace cuface
