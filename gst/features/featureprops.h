// The properties of cufeatures and cusurf.
#pragma once

#include <vector>

#include "gst/base/settings.h"
#include "kernels/keypoints/keypoints.h"

namespace cuface::gst {

struct FeatureSettings {
  /// All but `threshold`, and SURF's `max_keypoints` and `upright`, which are ORB's.
  FeatureConfig config;
  double threshold = 0;  ///< 0 = the detector's own
};

/// Those of cusurf.
struct SurfSettings : FeatureSettings {
  SurfSettings() {
    config.detector = FeatureDetector::kHessian;
    config.descriptor = FeatureDescriptor::kSurf;
  }
};

/// Without what the build lacks. S is FeatureSettings or SurfSettings.
template <typename S>
std::vector<Setting> feature_settings();

FeatureConfig config_of(const FeatureSettings& settings);

}  // namespace cuface::gst
