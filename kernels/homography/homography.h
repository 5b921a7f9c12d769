// homography: the projective map between two pictures of a plane that fits matched points best.
// RANSAC draws samples of four pairs; least squares refines over the inliers of the best sample
// [S2.18].
//
// fit.h, find.h: the steps, for the CPU and CUDA.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/status.h"

namespace cuface {

/// q = (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]) / (m[6] x + m[7] y + m[8]), in pixels. The
/// divisor is above 0 for points before the camera.
struct Homography {
  double m[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

  CUFACE_HD double divisor(Point p) const { return m[6] * p.x + m[7] * p.y + m[8]; }
  /// `p` must lie in front of the camera.
  CUFACE_HD Point apply(Point p) const {
    const double w = divisor(p);
    return {static_cast<float>((m[0] * p.x + m[1] * p.y + m[2]) / w),
            static_cast<float>((m[3] * p.x + m[4] * p.y + m[5]) / w)};
  }
};

struct HomographyConfig {
  float threshold = 3;        ///< px between q and its p carried over, at most, of an inlier; > 0
  int trials = 2048;          ///< samples of four at most, 1 to 65536; whole blocks of 64 are tried
  float confidence = 0.999f;  ///< sampling ends once a sample without outliers is so likely; 0..1
  /// The size of `from`, from (0, 0) on. If it is not 0, samples count only if all of it lies in
  /// front of the camera, no part more than 4 times as far as another, and not mirrored.
  float width = 0, height = 0;
  friend bool operator==(const HomographyConfig&, const HomographyConfig&) = default;
};

/// kInvalidArgument, with the value's name, where one is out of the range that HomographyConfig
/// gives it.
Status validate(const HomographyConfig& config);

/// Finds the map from `from` to `to`, places in pixels of either picture. All spans are the
/// caller's, of as many entries as there are pairs, 2^22 at most; `turns` may be empty. `config` is
/// valid. The best samples are fitted to the pairs near them. The map whose pairs agree best wins;
/// each inlier counts the more the nearer it is; of equals the earlier one. inlier[i] := 0/1, by
/// that map. Returns the number of inliers. 0 = there is no map, and `out` is untouched: below four
/// pairs, or no four in general position. A pair that is not finite is no inlier. `turns`: degrees
/// by which the picture is turned at each pair, above -360 and below 360; a sample's pairs are then
/// turned about alike where such are drawn in time. Deterministic by `seed`, thread-safe.
int find_homography(std::span<const Point> from, std::span<const Point> to,
                    const HomographyConfig& config, std::uint64_t seed,
                    std::span<std::uint8_t> inlier, Homography& out,
                    std::span<const float> turns = {});

/// `map` := the map near it with the least squares of distances in `to`, over the pairs with
/// inlier[i] != 0, all before the camera. Spans as above. False, and `map` untouched, below four of
/// them or where these do not determine a map. Deterministic, thread-safe.
bool refine_homography(std::span<const Point> from, std::span<const Point> to,
                       std::span<const std::uint8_t> inlier, Homography& map);

}  // namespace cuface
