// reference: the keypoints of a picture that frames are searched for, which may be small.
#pragma once

#include "kernels/keypoints/keypoints.h"

namespace cuface {

/// FAST and ORB leave out a border of `orb.edge` pixels on each level. Where it takes over a
/// quarter of the shorter side, keypoints of the picture enlarged twice follow the picture's own.
inline constexpr int kEdgesOfSmallPicture = 8;

/// `out` := the keypoints of `grey` in its own pixels, at most as many as one picture may have.
/// Keypoints of the enlarged picture keep the octave on which they were found there. Errors as
/// those of FeatureFinder.
Status find_in_reference(const FeatureConfig& config, ImageView<const std::uint8_t> grey,
                         Features& out, const StopFlag* stop = nullptr);

}  // namespace cuface
