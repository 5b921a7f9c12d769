// cufeaturematch on the GPU.
#pragma once

#include <memory>

#include "gst/base/device.h"
#include "gst/base/frame.h"
#include "gst/meta/keypoints.h"
#include "gst/references/references.h"
#include "kernels/common/status.h"
#include "kernels/match/match.h"

namespace cuface::gst {

/// Matches keypoints that are on the GPU. Their matches stay there until somebody reads them.
class DeviceFeatureMatcher {
 public:
  virtual ~DeviceFeatureMatcher() = default;
  /// Data about keypoints on the frame's GPU and about its size that the host knows without
  /// waiting: all but the keypoints. Null where they are elsewhere. As long as the frame.
  virtual Result<const FrameFeatures*> find(Frame& frame, const FeaturesFound& found) = 0;
  /// Matches those that find() found last, and adds the result to the frame. Counts the matches as
  /// the counter 0 of the element.
  virtual Status match(Frame& frame, const ReferencePictures& references,
                       const MatchConfig& config) = 0;
};

#ifdef CUFACE_CUDA_ELEMENTS
std::unique_ptr<DeviceFeatureMatcher> make_device_feature_matcher();
#else
inline std::unique_ptr<DeviceFeatureMatcher> make_device_feature_matcher() { return nullptr; }
#endif

}  // namespace cuface::gst
