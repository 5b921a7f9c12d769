#include "kernels/keypoints/keypoints.h"

#include <utility>

#include "kernels/common/try.h"

namespace cuface {
namespace {

bool uses_surf(const FeatureConfig& c) {
  return c.detector == FeatureDetector::kHessian || c.descriptor == FeatureDescriptor::kSurf;
}

}  // namespace

Status validate(const FeatureConfig& config) {
  if (config.detector == FeatureDetector::kHessian && config.descriptor == FeatureDescriptor::kOrb)
    return {StatusCode::kInvalidArgument,
            "descriptor=orb describes keypoints of detector=fast only: set descriptor=surf"};
  if (config.detector == FeatureDetector::kFast) CUFACE_TRY(validate(config.orb));
  if (uses_surf(config)) CUFACE_TRY(validate(config.surf));
  return {};
}

Result<FeatureFinder> FeatureFinder::create(const FeatureConfig& config, int width, int height) {
  CUFACE_TRY(validate(config));
  FeatureFinder finder;
  if (config.detector == FeatureDetector::kFast) {
    CUFACE_TAKE(orb, OrbDetector::create(config.orb, width, height));
    finder.orb_.emplace(std::move(orb));
  }
  if (uses_surf(config)) {
    CUFACE_TAKE(surf, SurfDetector::create(config.surf));
    finder.surf_.emplace(std::move(surf));
  }
  return finder;
}

Status FeatureFinder::run(ImageView<const std::uint8_t> grey, Features& out, const StopFlag* stop) {
  out.floats.clear();
  out.signs.clear();
  if (orb_) CUFACE_TRY(orb_->run(grey, out, stop));
  if (!surf_) return {};
  FloatFeatures found;
  CUFACE_TRY(orb_ ? surf_->describe(grey, out.keypoints, found, stop)
                  : surf_->run(grey, found, stop));
  out.keypoints = std::move(found.keypoints);
  out.descriptors.clear();
  out.floats = std::move(found.descriptors);
  out.signs = std::move(found.signs);
  return {};
}

Status find_keypoints(const FeatureConfig& config, ImageView<const std::uint8_t> grey,
                      Features& out, const StopFlag* stop) {
  CUFACE_TAKE(finder, FeatureFinder::create(config, grey.width, grey.height));
  return finder.run(grey, out, stop);
}

}  // namespace cuface
