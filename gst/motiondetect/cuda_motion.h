// cumotiondetect on the GPU.
#pragma once

#include <cstdint>
#include <memory>

#include "gst/base/device.h"
#include "gst/base/frame.h"
#include "gst/meta/motion.h"
#include "gst/motiondetect/motionprops.h"
#include "kernels/common/image.h"

namespace cuface::gst {

/// What `stats` count.
enum MotionCounter : int { kMovingFrames, kGlobalChanges, kEvents, kEdgeMaps };

/// Follows frames that are on the GPU. Their results stay there until somebody reads them.
class DeviceMotionFinder {
 public:
  virtual ~DeviceMotionFinder() = default;
  /// Begins with this frame: again with other rules. `ignored`: as MotionDetector::ignore().
  virtual Status make(Frame& frame, const MotionConfig& config,
                      ImageView<const std::uint8_t> ignored) = 0;
  virtual void forget() = 0;  ///< as MotionDetector
  virtual void finish() = 0;
  /// Adds the result to the frame, and shows it there. `ids_before`: as motion_map().
  virtual Result<MotionFound> look(Frame& frame, std::int64_t time, MotionOutput output,
                                   std::uint64_t ids_before) = 0;
  /// Makes the frame black.
  virtual Status show_nothing(Frame& frame) = 0;
};

#ifdef CUFACE_CUDA_ELEMENTS
std::unique_ptr<DeviceMotionFinder> make_device_motion_finder();
#else
inline std::unique_ptr<DeviceMotionFinder> make_device_motion_finder() { return nullptr; }
#endif

}  // namespace cuface::gst
