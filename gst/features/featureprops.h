// The properties of cufeatures.
#pragma once

#include <vector>

#include "gst/base/settings.h"
#include "kernels/orb/orb.h"

namespace cuface::gst {

/// What finds keypoints, and what describes them. SURF's will stand beside these.
enum class FeatureDetector { kFast };
enum class FeatureDescriptor { kOrb };

struct FeatureSettings {
  OrbConfig orb;  ///< all but its threshold
  FeatureDetector detector = FeatureDetector::kFast;
  FeatureDescriptor descriptor = FeatureDescriptor::kOrb;
  double threshold = 0;  ///< 0 = the detector's own
};

std::vector<Setting> feature_settings();

OrbConfig config_of(const FeatureSettings& settings);

}  // namespace cuface::gst
