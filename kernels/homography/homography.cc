#include "kernels/homography/homography.h"

#include "kernels/common/lanes.h"
#include "kernels/homography/find.h"

namespace cuface {

Status validate(const HomographyConfig& config) {
  const auto bad = [](const char* what) { return Status(StatusCode::kInvalidArgument, what); };
  if (!(config.threshold > 0 && config.threshold < 1e6f))
    return bad("threshold must be above 0 and finite");
  if (config.trials < 1 || config.trials > 65536) return bad("trials must be 1 to 65536");
  if (!(config.confidence >= 0 && config.confidence <= 1)) return bad("confidence must be 0 to 1");
  if (!(config.width >= 0 && config.width < 1e6f && config.height >= 0 && config.height < 1e6f))
    return bad("width and height must be 0 or more, and finite");
  return {};
}

int find_homography(std::span<const Point> from, std::span<const Point> to,
                    const HomographyConfig& config, std::uint64_t seed,
                    std::span<std::uint8_t> inlier, Homography& out, std::span<const float> turns) {
  homography::FindScratch scratch;
  return homography::find(SerialLanes{}, from, to, turns, config, seed, inlier, out, scratch);
}

bool refine_homography(std::span<const Point> from, std::span<const Point> to,
                       std::span<const std::uint8_t> inlier, Homography& map) {
  homography::Sums scratch;
  return homography::refine(
      SerialLanes{}, from, to, [&](std::size_t i) { return inlier[i] ? 1.0 : 0.0; },
      homography::kMostSteps, map, scratch);
}

}  // namespace cuface
