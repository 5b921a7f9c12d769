#include "kernels/surf/surf.h"

#include <string>
#include <utility>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "kernels/integral/integral.h"
#include "kernels/surf/describe.h"
#include "kernels/surf/hessian.h"

namespace cuface {
namespace {

Status invalid(const std::string& what) { return {StatusCode::kInvalidArgument, what}; }

}  // namespace

Status validate(const SurfConfig& config) {
  if (config.max_keypoints < 1 || config.max_keypoints > kMostKeypoints)
    return invalid("max-keypoints must be 1 to " + std::to_string(kMostKeypoints));
  if (!(config.threshold >= 0)) return invalid("threshold must be 0 or more");
  if (config.octaves < 1 || config.octaves > kMostSurfOctaves)
    return invalid("octaves must be 1 to " + std::to_string(kMostSurfOctaves));
  if (config.layers < 1 || config.layers > kMostSurfLayers)
    return invalid("layers must be 1 to " + std::to_string(kMostSurfLayers));
  return {};
}

Result<SurfDetector> SurfDetector::create(const SurfConfig& config) {
  CUFACE_TRY(validate(config));
  return SurfDetector(config);
}

Status SurfDetector::run(ImageView<const std::uint8_t> grey, FloatFeatures& out,
                         const StopFlag* stop) {
  out = {};
  if (!grey.data || grey.width < 1 || grey.height < 1 ||
      std::int64_t{grey.width} * grey.height > kMostSurfPixels)
    return invalid("SURF takes pictures of 1 to " + std::to_string(kMostSurfPixels) + " pixels");
  return guarded("finding keypoints", [&]() -> Status {
    Image<std::uint32_t> sums(grey.width + 1, grey.height + 1);
    integral(grey, sums.view());
    const ImageView<const std::uint32_t> view = std::as_const(sums).view();
    std::vector<surf::Found> found;
    if (!surf::find(view, config_, found, stop)) return cancelled();
    surf::Describer describer;
    for (surf::Found& one : found) {
      if (static_cast<int>(out.keypoints.size()) == config_.max_keypoints) break;
      if (is_raised(stop)) {
        out = {};
        return cancelled();
      }
      if (!describer.orient(view, config_.upright, one.keypoint)) continue;
      out.keypoints.push_back(one.keypoint);
      out.signs.push_back(one.sign);
      out.descriptors.resize(out.keypoints.size() * 64);
      describer.describe(grey, config_.upright, one.keypoint,
                         out.descriptors.data() + out.descriptors.size() - 64);
    }
    return {};
  });
}

}  // namespace cuface
