// cufeatures and cusurf on the GPU.
#pragma once

#include <memory>

#include "gst/base/device.h"
#include "gst/base/frame.h"
#include "kernels/keypoints/keypoints.h"

namespace cuface::gst {

/// Finds the keypoints of frames that are on the GPU. They stay there until somebody reads them.
class DeviceFeatureFinder {
 public:
  virtual ~DeviceFeatureFinder() = default;
  /// Counts what it finds as the counter 0 of the element.
  virtual Status find(Frame& frame, const FeatureConfig& config) = 0;
};

#ifdef CUFACE_CUDA_ELEMENTS
std::unique_ptr<DeviceFeatureFinder> make_device_feature_finder();
#else
inline std::unique_ptr<DeviceFeatureFinder> make_device_feature_finder() { return nullptr; }
#endif

}  // namespace cuface::gst
