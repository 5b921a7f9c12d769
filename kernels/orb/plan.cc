#include "kernels/orb/plan.h"

#include <algorithm>
#include <string>

#include "kernels/common/try.h"
#include "kernels/fast/fast.h"

namespace cuface::orb {

Status validate_plan(const OrbConfig& config, int width, int height) {
  CUFACE_TRY(validate(config));
  if (width >= 1 && height >= 1 && width <= kMostFastSide && height <= kMostFastSide) return {};
  return {StatusCode::kInvalidArgument,
          "a picture needs sides of 1 to " + std::to_string(kMostFastSide) + " pixels"};
}

std::vector<OrbLevel> plan_levels(const OrbConfig& config, int width, int height) {
  // As cv::ORB: its factor is a float, the powers are doubles, each made a float.
  const double step = config.scale_factor;
  const auto factor = static_cast<float>(1.0 / step);
  double left = 1;
  for (int i = 0; i < config.levels; ++i) left *= factor;
  float share =
      static_cast<float>(config.max_keypoints) * (1 - factor) / (1 - static_cast<float>(left));
  std::vector<OrbLevel> levels;
  double scale = 1;
  int given = 0;
  for (int i = 0; i < config.levels; ++i) {
    OrbLevel level{};
    level.scale = static_cast<float>(scale);
    const float inverse = 1.0f / level.scale;
    level.width = static_cast<int>(std::lrint(static_cast<float>(width) * inverse));
    level.height = static_cast<int>(std::lrint(static_cast<float>(height) * inverse));
    level.share = i + 1 < config.levels ? static_cast<int>(std::lrint(share))
                                        : std::max(config.max_keypoints - given, 0);
    if (std::min(level.width, level.height) <= 2 * config.edge) break;
    levels.push_back(level);
    given += level.share;
    share *= factor;
    scale *= step;
  }
  return levels;
}

}  // namespace cuface::orb
