// planar: one flat object that is found by its descriptors and followed by flow, and found again by
// descriptors when it is lost [S2.18].
//
// view.h: the picture of the object as the camera sees it; followed.h: which points are followed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/features/features.h"
#include "kernels/flow/flow.h"
#include "kernels/homography/homography.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface {

struct PlanarConfig {
  int points = 60;         ///< of the picture that are followed at most, 8 to 512
  int least_matches = 6;   ///< that agree on where it is, before its points are looked at; 5 to 512
  int least_found = 10;    ///< points like the picture that find it; 8 to 512
  int least_followed = 8;  ///< points like the picture on the next frames; 8 to 512
  FlowConfig flow{.window = 15};  ///< from frame to frame
  HomographyConfig homography;    ///< of matches
};

/// kInvalidArgument, with the value's name, where one is out of the range that PlanarConfig gives
/// it.
Status validate(const PlanarConfig& config);

/// Where the object is on a frame.
struct PlanarPose {
  bool visible = false;
  bool found = false;  ///< by descriptors, on this frame; else followed
  Homography map;      ///< from pixels of the picture to those of the frame; m[8] = 1
  Point corners[4];    ///< outer corners, in px of the frame: clockwise from the top left
  int inliers = 0;     ///< points that look like the picture where the map has them
};

/// Frame-sized memory of one thread, for any number of objects in turn.
class PlanarScratch {
 public:
  PlanarScratch(int width, int height, const PlanarConfig& config);

 private:
  friend class PlanarTracker;
  Image<std::uint8_t> seen_;
  GaussianPyramid seen_pyramid_;
  FlowConfig flow_;
  FlowScratch flow_scratch_;
  FlowConfig refine_;  ///< in one level, from the picture to the frame
  std::vector<Point> from_, before_, after_, match_from_, match_to_;
  std::vector<float> match_turn_;
  std::vector<std::uint8_t> status_, inlier_, match_inlier_;
};

/// One object. Allocates when it is made, and in its first steps. One thread at a time.
class PlanarTracker {
 public:
  /// A tracker for `picture` and its keypoints, in the picture's pixels; copies both.
  /// kInvalidArgument as validate(), or where a side is below 16 pixels.
  static Result<PlanarTracker> create(ImageView<const std::uint8_t> picture,
                                      std::span<const Keypoint> keypoints,
                                      const PlanarConfig& config);

  /// Searches for the object by matches: places in picture and frame, in pixels, and the rotation
  /// of each in degrees, of equal number. Samples are keyed by `seed`. It is no error if it is not
  /// found. Once `stop` is raised, returns kCancelled, and the object is not visible; the same
  /// holds for follow().
  Status find(std::span<const Point> in_picture, std::span<const Point> in_frame,
              std::span<const float> turns, GaussianPyramid& frame, std::uint64_t seed,
              PlanarScratch& scratch, const StopFlag* stop = nullptr);
  /// Tracks the object to `now` if it is visible on `before`, the frame of the last step. The flow
  /// of its points gives a first place; the flow from the warped reference picture corrects it, so
  /// that no error adds up.
  Status follow(GaussianPyramid& before, GaussianPyramid& now, std::uint64_t seed,
                PlanarScratch& scratch, const StopFlag* stop = nullptr);
  /// Forgets where it was.
  void lose() { pose_ = {}; }

  const PlanarPose& pose() const { return pose_; }

 private:
  PlanarTracker(ImageView<const std::uint8_t> picture, const PlanarConfig& config);

  bool refine(Homography& map, GaussianPyramid& frame, float threshold, bool must_look_alike,
              std::uint64_t seed, PlanarScratch& scratch);
  void grow(Homography map, GaussianPyramid& frame, std::uint64_t seed, PlanarScratch& scratch);
  bool verify(Homography& map, GaussianPyramid& frame, std::uint64_t seed, PlanarScratch& scratch);
  void settle(const Homography& map, int inliers, bool found);

  PlanarConfig config_;
  GaussianPyramid picture_;
  int width_, height_;
  std::vector<Point> points_;
  std::vector<std::uint8_t> alike_;  ///< of points_: it looks like the picture on the last frame
  std::vector<std::uint8_t> were_alike_;  ///< before a round that may be taken back
  PlanarPose pose_;
};

}  // namespace cuface
