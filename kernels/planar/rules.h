// The rules and thresholds by which a map or a point is accepted. For the CPU and CUDA.
#pragma once

#include <cmath>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/homography/find.h"
#include "kernels/homography/homography.h"
#include "kernels/planar/planar.h"
#include "kernels/planar/view.h"

namespace cuface::planar {

/// Of the frame, around a point, that is compared with the picture.
inline constexpr int kRefineWindow = 15;
/// Flow reads so many more pixels on each side of its window.
inline constexpr int kMargin = 3;
inline constexpr int kSquareSide = kRefineWindow + 2 * kMargin;
/// The least normalised correlation of a point that looks like the picture.
inline constexpr double kAlike = 0.8;
/// px: of flow from frame to frame, and of that from the picture, beside a map: of three rounds.
inline constexpr float kFollowed = 3;
inline constexpr int kRounds = 3;
inline constexpr float kRefined[kRounds] = {3, 1.5f, 0.6f};
/// Rounds behind these, as long as more points look like the picture.
inline constexpr int kMostGrowths = 6;
/// Maps of the matches of one frame that are tried.
inline constexpr int kMostAttempts = 4;
/// px^2 that an object covers at the least.
inline constexpr double kLeastArea = 400;

/// The same map with m[8] = 1; m[8] is not 0.
CUFACE_HD inline Homography scaled(const Homography& h) {
  Homography out;
  for (int i = 0; i < 9; ++i) out.m[i] = h.m[i] / h.m[8];
  return out;
}

CUFACE_HD inline bool is_near_frame(Point p) {
  constexpr float kFar = 1 << 20;
  return std::abs(p.x) < kFar && std::abs(p.y) < kFar;
}

/// Writes where a map has the outer corners of a picture of width x height, in pixels of the frame.
/// False, and `corners` is written in part, where the map does not show the front, has a corner
/// behind the camera or far from the frame, or covers less than kLeastArea.
CUFACE_HD inline bool place_corners(const Homography& map, int width, int height, Point* corners) {
  const auto right = static_cast<float>(width) - 0.5f, bottom = static_cast<float>(height) - 0.5f;
  const Point of[4] = {{-0.5f, -0.5f}, {right, -0.5f}, {right, bottom}, {-0.5f, bottom}};
  for (int i = 0; i < 4; ++i) {
    if (!(map.divisor(of[i]) > 0)) return false;
    corners[i] = map.apply(of[i]);
    if (!is_near_frame(corners[i])) return false;
  }
  double area = 0;
  for (int i = 0; i < 4; ++i) {
    const double turn = homography::turn(corners[i], corners[(i + 1) % 4], corners[(i + 2) % 4]);
    if (!(turn > 0)) return false;
    area += turn / 4;
  }
  return area >= kLeastArea;
}

/// Where an object of width x height is by a map; not visible where place_corners() says no.
CUFACE_HD inline PlanarPose pose_of(const Homography& map, int width, int height, int inliers,
                                    bool found) {
  PlanarPose pose;
  if (!place_corners(map, width, height, pose.corners)) return {};
  pose.visible = true;
  pose.found = found;
  pose.map = scaled(map);
  pose.inliers = inliers;
  return pose;
}

/// The place of a picture's point in a frame by a map, and the comparison there. False where that
/// is not all of the frame.
CUFACE_HD inline bool place_point(const Homography& map, Point point, int frame_width,
                                  int frame_height, Point& at, Square& square) {
  if (!(map.divisor(point) > 0)) return false;
  at = map.apply(point);
  if (!is_near_frame(at)) return false;
  square = square_around(at, kSquareSide);
  return square.inside(frame_width, frame_height);
}

}  // namespace cuface::planar
