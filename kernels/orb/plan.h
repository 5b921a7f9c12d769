// The levels of ORB, for whoever fills them.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/status.h"
#include "kernels/orb/orb.h"

namespace cuface::orb {

struct OrbLevel {
  int width, height;
  float scale;  ///< how many pixels of the picture one of the level is
  int share;    ///< of max_keypoints
};

/// What create() of both processors refuses.
Status validate_plan(const OrbConfig& config, int width, int height);

/// Those on which there can be keypoints, from the picture itself on. Of a config that is valid.
std::vector<OrbLevel> plan_levels(const OrbConfig& config, int width, int height);

/// Where keypoints may lie on a level.
inline Rect inner(const OrbLevel& level, int edge) {
  return {edge, edge, level.width - 2 * edge, level.height - 2 * edge};
}

/// From a keypoint to the pixel of its level.
inline int on_level(float at, const OrbLevel& level) {
  return static_cast<int>(std::lrint(at * (1.0f / level.scale)));
}

/// The diameter of what is described, in pixels of the level.
inline constexpr int kPatch = 31;

}  // namespace cuface::orb
