// What the landmarks of a face stand for, by how many there are: 68 of iBUG, 5 of dlib, 77 of
// Stasm. A model with another scheme works; its eyes are not known, and its points are drawn
// without lines. Whoever adds a scheme adds it here: kernels/detect/verify.h reads the eyes,
// kernels/overlay the eyes, the low point and the lines (its kMaxLines is how many lines it holds).
// A model that was trained on boxes of another detector than ours has a box map (models/box_map.h).
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
  if (points == 77) return {30, 40, 8};
  return {};
}

/// Which point of a face a point of its mirror picture is; -1 where the scheme is not known. Twice
/// gives the point itself.
CUFACE_HD inline int mirrored_landmark(int points, int i) {
  constexpr signed char kMirrored68[] = {
      16, 15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4, 3, 2, 1, 0,  // jaw
      26, 25, 24, 23, 22, 21, 20, 19, 18, 17,                         // brows
      27, 28, 29, 30, 35, 34, 33, 32, 31,                             // nose
      45, 44, 43, 42, 47, 46, 39, 38, 37, 36, 41, 40,                 // eyes
      54, 53, 52, 51, 50, 49, 48, 59, 58, 57, 56, 55,                 // lips, outside
      64, 63, 62, 61, 60, 67, 66, 65,                                 // lips, inside
  };
  constexpr signed char kMirrored5[] = {2, 3, 0, 1, 4};
  if (points == 68) return kMirrored68[i];
  return points == 5 ? kMirrored5[i] : -1;
}

/// The point that says where the face ends below: the chin, or the nose's base where there is none.
/// Only where eyes_of() knows the scheme.
struct LowPoint {
  int index = 0;
  bool chin = false;
};
CUFACE_HD inline LowPoint low_point_of(int points) {
  if (points == 68) return {8, true};
  if (points == 77) return {6, true};
  return {4, false};
}

/// Points `first` to `last`, both with, that a line joins; closed: back to the first.
struct LandmarkCurve {
  int first, last;
  bool closed;
};
CUFACE_HD inline int curve_count(int points) { return points == 68 ? 9 : points == 77 ? 10 : 0; }
/// 0 <= i < curve_count(points).
CUFACE_HD inline LandmarkCurve curve_of(int points, int i) {
  constexpr LandmarkCurve kCurves68[] = {
      {0, 16, false}, {17, 21, false}, {22, 26, false}, {27, 30, false}, {31, 35, false},
      {36, 41, true}, {42, 47, true},  {48, 59, true},  {60, 67, true},
  };
  constexpr LandmarkCurve kCurves77[] = {
      {0, 15, true},                                     // face and forehead
      {16, 21, true},  {22, 27, true},  {30, 37, true},  // brows, an eye
      {40, 47, true},  {54, 58, false},                  // an eye, the nose's base
      {59, 65, false}, {66, 68, false}, {69, 71, false}, {72, 76, false},  // lips
  };
  if (points == 77) return kCurves77[i];
  return points == 68 ? kCurves68[i] : LandmarkCurve{};
}

}  // namespace cuface
