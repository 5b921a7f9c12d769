// The tracker's decisions as small functions over plain arrays: no state, no allocation, and no
// libm beyond sqrt, so that the CUDA twin can run the same code.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/similarity/similarity.h"
#include "kernels/track/track.h"

namespace cuface::track {

/// Intersection over union; 0 when either box is empty or not finite.
float overlap(const Box& a, const Box& b);

/// Fraction of the box's area inside a width x height frame.
float visible_fraction(const Box& box, int width, int height);

/// Greedy one-to-one matching by overlap, largest first; ties go to the smaller track, then the
/// smaller detection. match[track] := detection, or -1. At most kMaxTracks boxes on either side.
void associate(std::span<const Box> tracks, std::span<const Box> detections, float min_overlap,
               std::span<int> match);

/// Are these two places of one face near enough for the same id (revive_distance)?
/// Negative = no, else the squared distance of the centres.
float revive_distance2(const Box& before, const Box& now, float revive_distance);

/// Fixed points inside a box, for faces without landmarks: a kGridSide x kGridSide grid over the
/// part of a Haar box that is face and not background.
inline constexpr int kGridSide = 8;
void grid_points(const Box& box, std::span<Point> points);

/// The box after a similarity of its points: scale and shift, without the rotation. `from` are the
/// points with inlier != 0 before the motion; their centroid keeps its place relative to the box
/// (dropping only the rotation from the similarity would throw the box around the origin).
Box move_box(const Box& box, const Similarity& motion, std::span<const Point> from,
             std::span<const std::uint8_t> inlier);

/// Root mean square distance between two shapes after the best similarity, in units of `to`.
/// Negative when there is none.
float shape_distance(std::span<const Point> from, std::span<const Point> to);

/// One face's points on two frames, and what became of them.
struct Motion {
  bool lost = false;
  Loss reason = Loss::kPoints;  ///< where lost
  Similarity similarity;
  Box box;          ///< where the face is now
  float check = 0;  ///< fraction of all points that passed
};

/// `from` on the previous frame, `to` on this one, `back` = `to` flowed back; good[i] = both flows
/// succeeded. On return good[i] = 1 for points that agree with the motion. `scratch_from` and
/// `scratch_to` hold as many points, `scratch_inlier` as many flags.
struct MotionScratch {
  Point from[kMaxTrackPoints];
  Point to[kMaxTrackPoints];
  std::uint8_t inlier[kMaxTrackPoints];
};
Motion judge_motion(const Box& box, std::span<const Point> from, std::span<const Point> to,
                    std::span<const Point> back, std::span<std::uint8_t> good,
                    const TrackConfig& config, std::uint64_t seed, int width, int height,
                    MotionScratch& scratch);

}  // namespace cuface::track
