// Finds landmarks in the boxes of a frame's faces on a GPU: the part that depends on the model.
// Whatever the model, its landmarks are smoothed and kept alike (cuda_backend.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gst/facelandmark/backend.h"
#include "gst/facelandmark/finder.h"
#include "gst/faces/cuda/devicefaceframe.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/faces/faces_cuda.h"

namespace cuface::gst {

class DeviceLandmarkFinder {
 public:
  virtual ~DeviceLandmarkFinder() = default;
  /// Before find() of each frame. The settings may be others than on the frame before.
  virtual Status look_at(Frame& frame, DeviceFaceFrame& device, const FaceResult& faces,
                         const std::string& detector, const LandmarkSettings& settings) = 0;
  /// `out` gets the faces of `in` with their landmarks.
  virtual Status find(ImageView<const std::uint8_t> luma, const cuda::DeviceFaces* in,
                      cuda::DeviceFaces* out, const LandmarkSettings& settings,
                      cuda::Launcher launch) = 0;
  /// The landmarks found, for the next frame.
  virtual Status remember(const cuda::DeviceFaces* faces, const LandmarkSettings& settings,
                          cuda::Launcher launch) = 0;
  virtual void forget() = 0;
};

using DeviceLandmarkFinderResult = Result<std::unique_ptr<DeviceLandmarkFinder>>;
DeviceLandmarkFinderResult make_device_forest_finder(std::shared_ptr<const ForestModel> model,
                                                     const LandmarkSettings& settings,
                                                     const StopFlag& stop);
/// Iterations, samples, box maps and rolls are the forest's: it does without. `start` as long as it
/// lives.
DeviceLandmarkFinderResult make_device_shape_finder(const LandmarkModel& model, LandmarkStart start,
                                                    const StopFlag& stop);

}  // namespace cuface::gst
