// How cufacelandmark processes a frame on the processor that it was planned for.
#pragma once

#include <memory>

#include "gst/base/device.h"
#include "gst/base/frame.h"
#include "gst/faces/faceelement.h"
#include "gst/meta/facemeta.h"
#include "kernels/cascade/cascade.h"
#include "kernels/common/backend.h"
#include "kernels/landmark_samples/landmark_samples.h"
#include "kernels/shape/shape_model.h"

namespace cuface::gst {

enum class BoxMapChoice { kAuto, kNone };

/// Where a shape model's search starts.
enum class LandmarkStart { kBox, kTracker, kEyes };

struct LandmarkSettings : FaceSettings {
  LandmarkStart start = LandmarkStart::kBox;
  int iterations = 0;
  int threads = 0;  ///< of a search of patches on the CPU; 0: as many as there are processors
  int samples = 4;
  float inertia = 0.8f;  ///< 0 = off
  float smooth = 0;      ///< 0 = off
  bool follow_roll = true;
  bool refine = true;  ///< with follow_roll only
  /// kAuto: as calibrated for the detector that found the faces, or learned from its first ones
  BoxMapChoice box_map = BoxMapChoice::kAuto;
};

/// One of them: the model file decides which engine finds landmarks.
struct LandmarkModel {
  std::shared_ptr<const ForestModel> forest;
  std::shared_ptr<const ShapeModel> shape;
  std::shared_ptr<const CascadeModel> eyes;  ///< for LandmarkStart::kEyes
};

struct Landmarks {
  FaceResult faces;
  /// The same before smoothing, for the tracker, whose points must not lag. Null where that is no
  /// difference.
  FaceResult unsmoothed;
};

class LandmarkBackend {
 public:
  virtual ~LandmarkBackend() = default;
  /// The faces with landmarks in their boxes; `faces` is not empty, but may have no face. `seconds`
  /// > 0 since the last frame that was no gap. On a gap faces that the frame before had keep their
  /// landmarks, and nothing is remembered of the picture.
  virtual Result<Landmarks> run(Frame& frame, const FaceResult& faces,
                                const LandmarkSettings& settings, double seconds) = 0;
  /// The next frame's faces have nothing to do with those before.
  virtual void forget() = 0;
};

using LandmarkBackendResult = Result<std::unique_ptr<LandmarkBackend>>;

/// Later changes of the settings are followed in run(), which on the CPU ends with kCancelled once
/// `stop`, which outlives the back end, is raised.
LandmarkBackendResult make_landmark_backend(Backend backend, const LandmarkModel& model,
                                            const LandmarkSettings& settings, const StopFlag& stop);

#ifdef CUFACE_CUDA_ELEMENTS
LandmarkBackendResult make_cuda_landmark_backend(const LandmarkModel& model,
                                                 const LandmarkSettings& settings,
                                                 const StopFlag& stop);
#endif

}  // namespace cuface::gst
