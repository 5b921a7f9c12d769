// orb: keypoints on a pyramid and their binary descriptors, equal to cv::ORB's. FAST finds corners
// on each level, Harris' measure ranks them, and the centroid gives a direction. A descriptor is
// 256 comparisons in the blurred level, turned by that direction [S2.10, S2.14, S2.17].
//
// plan.h: the levels; rules.h: the formulas; pattern.h: what is compared; reference.h: a keypoint,
// plainly; vector.h: the same by vectors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/features/features.h"

namespace cuface {

inline constexpr int kMostOrbLevels = 32;
/// With these no formula reads a pixel outside of a level: the pattern's radius and the blur's.
inline constexpr int kLeastEdge = 22, kMostEdge = 1024;
/// Of a scale factor.
inline constexpr float kLeastScale = 1.01f, kMostScale = 8;

enum class KeypointScore { kHarris, kFast };

struct OrbConfig {
  int max_keypoints = 1020;   ///< 1 to kMostKeypoints, over all levels
  int threshold = 20;         ///< of FAST, 0 to 255
  int levels = 8;             ///< 1 to kMostOrbLevels
  float scale_factor = 1.2f;  ///< from level to level
  int edge = 31;  ///< of a level, within which there are no keypoints: kLeastEdge to kMostEdge
  KeypointScore score = KeypointScore::kHarris;
  bool upright = false;  ///< the angle is 0
  friend bool operator==(const OrbConfig&, const OrbConfig&) = default;
};

/// kInvalidArgument, with the value's name, where one is out of the range that OrbConfig gives it.
Status validate(const OrbConfig& config);

/// Finds and describes the keypoints of pictures of one size. Allocates when it is made; serves one
/// thread at a time.
class OrbDetector {
 public:
  /// kInvalidArgument as validate(), or where a side is below 1 or above kMostFastSide.
  static Result<OrbDetector> create(const OrbConfig& config, int width, int height);

  OrbDetector(OrbDetector&&) noexcept;
  OrbDetector& operator=(OrbDetector&&) noexcept;
  ~OrbDetector();

  /// `out` := the keypoints in pixels of `grey`, level by level and of each row by row. Each level
  /// has its share of max_keypoints; all that equal the last one of a share stay, up to
  /// kMostKeypoints in all. kInvalidArgument where the size is not the planned one; kCancelled,
  /// with some of the keypoints, once `stop` is raised.
  Status run(ImageView<const std::uint8_t> grey, BinaryFeatures& out,
             const StopFlag* stop = nullptr);

  /// `out` := `given` with descriptors, unchanged and in order; without those whose octave is no
  /// level, or that lie nearer than kLeastEdge to a level's sides. Errors as run(), and
  /// kInvalidArgument where more than kMostKeypoints are given.
  Status describe(ImageView<const std::uint8_t> grey, std::span<const Keypoint> given,
                  BinaryFeatures& out, const StopFlag* stop = nullptr);

 private:
  class Impl;
  explicit OrbDetector(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cuface
