// cuplanartrack on the GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gst/base/device.h"
#include "gst/base/frame.h"
#include "gst/meta/keypoints.h"
#include "gst/meta/planar.h"
#include "gst/references/references.h"
#include "kernels/common/status.h"
#include "kernels/planar/objects.h"

namespace cuface::gst {

/// Finds and follows objects in frames that are on the GPU, where they stay until somebody reads
/// them. Counts searches, visible and lost objects as the element's counters 0 to 2.
class DevicePlanarFinder {
 public:
  virtual ~DevicePlanarFinder() = default;
  /// What the host knows of keypoints on the frame's GPU without waiting; null where there are
  /// none, and look() finds ORB's where something is missing.
  virtual Result<const FrameFeatures*> find(Frame& frame, const FeaturesFound& found) = 0;
  /// Frame `number`, with the keypoints that find() found, as which the references are described.
  /// Adds the result to the frame, too.
  virtual Result<PlanarFound> look(Frame& frame, const ReferencePictures& references,
                                   std::uint64_t number) = 0;
  /// A frame without a picture: all is where it was.
  virtual Result<PlanarFound> rest(Frame& frame) = 0;
  /// The next frame does not go on from the last one.
  virtual void lose() = 0;
  /// The objects' ids, 0 of those that have none yet. Waits for the GPU: not while frames come.
  virtual Result<std::vector<std::uint64_t>> ids() const = 0;
};

using DevicePlanarResult = Result<std::unique_ptr<DevicePlanarFinder>>;

/// For frames of width x height, of references that are described by config.features. `ids`:
/// those that objects have had, or none.
DevicePlanarResult make_device_planar_finder(const ReferencePictures& references,
                                             const PlanarSearchConfig& config, int width,
                                             int height, const std::vector<std::uint64_t>& ids);

/// Whether look() can match these keypoints of a frame: they are on a GPU.
bool can_match_on_gpu(const Frame& frame, const FeaturesFound& found);

#ifndef CUFACE_CUDA_ELEMENTS
inline bool can_match_on_gpu(const Frame&, const FeaturesFound&) { return false; }
inline DevicePlanarResult make_device_planar_finder(const ReferencePictures&,
                                                    const PlanarSearchConfig&, int, int,
                                                    const std::vector<std::uint64_t>&) {
  return Status(StatusCode::kUnsupported, "this build has no CUDA");
}
#endif

}  // namespace cuface::gst
