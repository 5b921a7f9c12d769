// The meaning of a face's landmarks: which are the eyes, the mouth and the jaw, which lines join
// them, and which measure a face. A scheme is data of the landmark model (models/scheme_json.h) and
// comes with the faces (FaceList::scheme). Models without one have that of their number of points:
// 68 of iBUG, 5 of dlib, 77 of Stasm, 194 of HELEN, and of 79 the jaw [S3.06].
//
// Users: kernels/detect/verify.h reads the eyes; kernels/overlay the eyes, low point, mouth and
// lines; training the eyes, jaw and corners. With a scheme that nobody knows all points are drawn
// as such. A model that was trained on boxes of another detector than ours has a box map
// (models/box_map.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/status.h"

namespace cuface {

/// `count` points from `first` on; none: not known.
struct PointRange {
  std::int16_t first = 0, count = 0;
};

/// The places of both eyes among the points; count 0 where they are not known. Left and right are
/// those of an upright face's picture.
struct Eyes {
  std::int16_t left = 0, right = 0, count = 0;  ///< first points, and how many of each
};

/// The point that says where the face ends below.
struct LowPoint {
  enum Kind : std::int16_t { kUnknown, kChin, kNose };  ///< kNose: its base, or its tip
  std::int16_t index = 0;
  Kind kind = kUnknown;
};

/// Points `first` to `last`, both with, that a line joins; closed: back to the first.
struct LandmarkCurve {
  std::int16_t first = 0, last = 0, closed = 0;
};

/// From the middle of two points, the outer corners of the eyes, to a third at the mouth: a face's
/// size. All 0: not known.
struct SizePoints {
  std::int16_t left = 0, right = 0, below = 0;
  CUFACE_HD constexpr bool is_known() const { return left != right; }
};

inline constexpr int kMaxLandmarkCurves = 32;
/// Lines of all curves together.
inline constexpr int kMaxLandmarkLines = 512;

/// Passed by value to kernels.
struct LandmarkScheme {
  std::int32_t points = 0;  ///< of a face; 0: nobody has said anything
  Eyes eyes;
  LowPoint low;
  PointRange mouth, jaw;
  SizePoints size;
  std::int16_t curves = 0;
  LandmarkCurve curve[kMaxLandmarkCurves];

  CUFACE_HD bool has_on_curve(int i) const {
    for (int c = 0; c < curves; ++c)
      if (i >= curve[c].first && i <= curve[c].last) return true;
    return false;
  }
};

/// By the number of points; of another number a scheme of which nothing is known.
CUFACE_HD constexpr LandmarkScheme known_scheme(int points) {
  LandmarkScheme s;
  s.points = points;
  const auto add = [&s](int first, int last, int closed) {
    s.curve[s.curves++] = {static_cast<std::int16_t>(first), static_cast<std::int16_t>(last),
                           static_cast<std::int16_t>(closed)};
  };
  if (points == 5) {
    s.eyes = {2, 0, 2};
    s.low = {4, LowPoint::kNose};
    s.size = {2, 0, 4};
  } else if (points == 68) {
    s.eyes = {36, 42, 6};
    s.low = {8, LowPoint::kChin};
    s.mouth = {48, 20};
    s.jaw = {0, 17};
    s.size = {36, 45, 66};
    add(0, 16, 0);
    add(17, 21, 0);
    add(22, 26, 0);
    add(27, 30, 0);
    add(31, 35, 0);
    add(36, 41, 1);
    add(42, 47, 1);
    add(48, 59, 1);
    add(60, 67, 1);
  } else if (points == 77) {
    s.eyes = {30, 40, 8};
    s.low = {6, LowPoint::kChin};
    s.mouth = {59, 18};
    s.jaw = {0, 13};
    s.size = {34, 44, 74};
    add(0, 15, 1);   // face and forehead
    add(16, 21, 1);  // brows
    add(22, 27, 1);
    add(30, 37, 1);  // eyes
    add(40, 47, 1);
    add(54, 58, 0);  // the nose's base
    add(59, 65, 0);  // lips
    add(66, 68, 0);
    add(69, 71, 0);
    add(72, 76, 0);
  } else if (points == 79) {
    s.jaw = {0, 15};
    add(0, 14, 0);
  } else if (points == 194) {
    s.eyes = {114, 134, 20};
    s.low = {20, LowPoint::kChin};
    s.mouth = {58, 56};
    s.jaw = {0, 41};
    add(0, 40, 0);
    add(41, 57, 0);   // the nose
    add(58, 85, 1);   // lips, outside
    add(86, 113, 1);  // lips, inside
    add(114, 133, 1);
    add(134, 153, 1);
    add(154, 173, 1);  // brows
    add(174, 193, 1);
  }
  return s;
}

/// The scheme of faces with so many points: `said`, or if that is null or has another number of
/// points, the usual scheme of that number.
CUFACE_HD inline LandmarkScheme scheme_for(const LandmarkScheme* said, int points) {
  return said && points > 0 && said->points == points ? *said : known_scheme(points);
}

/// kCorrupt, with what is wrong: a point that is none, too many curves or lines.
Status validate(const LandmarkScheme& scheme, int points);

/// Whether a mean shape could be of this scheme: the left eye lies left of the right one, both
/// above the low point, and no line is longer than half of the face. Points of another order fail.
bool fits(const LandmarkScheme& scheme, std::span<const Point> mean_shape);

/// known_scheme(); nothing but the number of points where the mean shape does not fit it.
LandmarkScheme known_scheme(std::span<const Point> mean_shape);

using LandmarkSchemeRef = std::shared_ptr<const LandmarkScheme>;

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

}  // namespace cuface
