// The levels of ORB, for code that fills them.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/status.h"
#include "kernels/fast/fast.h"
#include "kernels/features/features.h"
#include "kernels/orb/orb.h"

namespace cuface::orb {

struct OrbLevel {
  int width, height;
  float scale;  ///< how many pixels of the picture one of the level is
  int share;    ///< of max_keypoints
};

/// The configurations that create() refuses on both processors.
Status validate_plan(const OrbConfig& config, int width, int height);

/// The levels on which there can be keypoints, from the picture itself on. `config` must be valid.
std::vector<OrbLevel> plan_levels(const OrbConfig& config, int width, int height);

/// Where keypoints may lie on a level.
inline Rect inner(const OrbLevel& level, int edge) {
  return {edge, edge, level.width - 2 * edge, level.height - 2 * edge};
}

/// From a keypoint to the pixel of its level.
CUFACE_HD inline int on_level(float at, float scale) {
#ifdef __CUDA_ARCH__
  return __float2int_rn(at * (1.0f / scale));
#else
  return static_cast<int>(std::lrint(at * (1.0f / scale)));
#endif
}

/// Whether one is kLeastEdge away from the sides of its level, with an angle that is one.
CUFACE_HD inline bool can_be_described(const Keypoint& k, float scale, int width, int height) {
  const auto bounded = [](float at) { return at >= -kMostFastSide && at <= kMostFastSide; };
  if (!(k.angle >= 0 && k.angle <= 360) || !bounded(k.x) || !bounded(k.y)) return false;
  const int x = on_level(k.x, scale), y = on_level(k.y, scale);
  return x >= kLeastEdge && y >= kLeastEdge && x < width - kLeastEdge && y < height - kLeastEdge;
}

/// The diameter of what is described, in pixels of the level.
inline constexpr int kPatch = 31;

}  // namespace cuface::orb
