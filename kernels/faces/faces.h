// What every stage after the detector passes on: the faces of one frame.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cells/region.h"
#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/faces/landmark_scheme.h"

namespace cuface {

enum class Origin : std::uint8_t {
  kDetected,  ///< the box comes from a search of this frame
  kTracked,   ///< the box was moved here from the previous frame
};

/// Points that a network gives with each face: right eye, left eye, tip of the nose, right and left
/// mouth corner; right and left are the person's.
inline constexpr int kFaceKeypoints = 5;

struct Face {
  std::uint64_t id = 0;  ///< lasting id from the tracker, from 1; 0 = nobody has given one
  float confidence = 0;  ///< 0..1: n/(n+3) for n grouped windows; a tracked face's check
  int neighbors = -1;    ///< raw windows in the detection's group; -1 = tracked
  Origin origin = Origin::kDetected;
  bool has_keypoints = false;
  int age = 0;  ///< frames since the face's box was last confirmed by a detection; 0 = now
  Box box;      ///< pixels, edges
  Roll roll;    ///< as which the detector that found or confirmed it last saw its head turned;
                ///< with keypoints, as which its eyes lie now
  /// Pixels, centres; all 0 without has_keypoints. A tracker moves them with the face.
  Point keypoints[kFaceKeypoints];
};

/// The faces of one frame, in pixels of a width x height picture.
/// Filled by one thread, then shared as `std::shared_ptr<const FaceList>` and never changed again.
struct FaceList {
  int width = 0, height = 0;
  bool searched = false;  ///< a detector searched this frame (an empty list then means: no face)
  std::string detector;   ///< file stem of the cascade the boxes come from, e.g.
                          ///< "haarcascade_frontalface_alt"; selects the landmark box map
  std::vector<Face> faces;
  int landmarks_per_face = 0;    ///< 0 = no landmarks yet
  std::vector<Point> landmarks;  ///< faces.size() * landmarks_per_face, face after face
  /// As many: how sure the landmarks' engine is of each, 0 to 1 (point_confidence.h). Empty where
  /// it does not know.
  std::vector<float> landmark_confidences;
  /// From the tracker to the landmarks behind it, and no landmarks yet: those of the frame before,
  /// moved here with the picture; NaN for a face that had none.
  int followed_per_face = 0;  ///< 0 = none
  std::vector<Point> followed;
  /// Of the landmarks, or of the followed ones; null = that of their number.
  LandmarkSchemeRef scheme;
  /// From the detector to the tracker, where a search is spread over frames: the part of the
  /// picture that was searched on this one, in which no box means no face. `searched` is then
  /// false.
  SearchRegion part;

  const Point* landmarks_of(std::size_t face) const {
    return landmarks.data() + face * static_cast<std::size_t>(landmarks_per_face);
  }
  /// Null where they are not known.
  const float* confidences_of(std::size_t face) const {
    if (landmark_confidences.empty()) return nullptr;
    return landmark_confidences.data() + face * static_cast<std::size_t>(landmarks_per_face);
  }
};

/// Points of each face that the list has: landmarks, or followed ones.
inline int points_per_face(const FaceList& faces) {
  return faces.landmarks_per_face > 0 ? faces.landmarks_per_face : faces.followed_per_face;
}

/// What the points of the list's faces stand for.
inline LandmarkScheme scheme_of(const FaceList& faces) {
  return scheme_for(faces.scheme.get(), points_per_face(faces));
}

/// The turn of a head, by its eyes; upright where they lie on one spot.
CUFACE_HD inline Roll roll_of_eyes(const Point& right, const Point& left) {
  const float dx = left.x - right.x, dy = left.y - right.y;
  const float length = std::sqrt(dx * dx + dy * dy);
  return length > 0 ? Roll{dx / length, dy / length} : Roll{};
}

using FaceListRef = std::shared_ptr<const FaceList>;

/// Boxes found at different angles are of one head where the centre of either lies in the other:
/// what is found in a head that is seen askew may be smaller or larger than the head.
CUFACE_HD inline bool is_one_head(const Box& a, const Box& b) {
  const float dx = a.x + a.w / 2 - (b.x + b.w / 2), dy = a.y + a.h / 2 - (b.y + b.h / 2);
  const float w = (a.w > b.w ? a.w : b.w) / 2, h = (a.h > b.h ? a.h : b.h) / 2;
  return dx < w && -dx < w && dy < h && -dy < h;
}

/// So many raw windows make a confidence of one half.
inline constexpr float kHalfConfident = 3;

/// Confidence of a detection that grouped `neighbors` raw windows: n / (n + 3).
CUFACE_HD inline float detection_confidence(int neighbors) {
  const float n = static_cast<float>(neighbors);
  return n / (n + kHalfConfident);
}

}  // namespace cuface
