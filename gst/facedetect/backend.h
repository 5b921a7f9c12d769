// How cufacedetect processes a frame on the processor that it was planned for.
#pragma once

#include <functional>
#include <memory>

#include "gst/base/device.h"
#include "gst/base/frame.h"
#include "gst/facedetect/detectprops.h"
#include "gst/meta/facemeta.h"
#include "kernels/common/backend.h"
#include "kernels/detect/detect.h"
#include "kernels/detect/schedule.h"
#include "kernels/network/network.h"

namespace cuface::gst {

/// The data in host memory that decide whether to search a frame.
struct SearchInputs {
  SearchRequest ask;
  /// The faces that the tracker followed on the frame before, in pixels of this one; or none. On
  /// the GPU they say themselves whether it asks for a search and follows any.
  FaceResult followed;
  /// Whether those that a search misses are to be verified.
  bool verify = false;
  /// Whether a search is due on (nearly) every frame.
  bool every_frame = false;
};

class DetectBackend {
 public:
  virtual ~DetectBackend() = default;
  /// Forgets what earlier searches found.
  virtual void restart() = 0;
  /// The faces of the frame: those of a detector before and those that a search finds.
  virtual Result<FaceResult> run(Frame& frame, const DetectSettings& settings,
                                 const SearchInputs& inputs) = 0;
};

/// The parts of the element that a back end uses; the element outlives it.
struct BackendOwner {
  StopFlag& stop;  ///< raised: planning and searching end with kCancelled
  /// Called in the streaming thread whenever a search is planned, before the first one: how many
  /// windows it looks at, and how long it may take (searchcost.h).
  std::function<void(long long windows, double seconds)> planned;
};

using DetectBackendResult = Result<std::unique_ptr<DetectBackend>>;

/// For pictures of width x height; later changes of the settings are followed in run().
DetectBackendResult make_detect_backend(Backend backend, std::shared_ptr<const CascadeModel> model,
                                        const DetectSettings& settings, int width, int height,
                                        BackendOwner owner);

/// The same with a network instead of a cascade.
DetectBackendResult make_network_backend(Backend backend, std::shared_ptr<const NetworkModel> model,
                                         const DetectSettings& settings, int width, int height,
                                         BackendOwner owner);

#ifdef CUFACE_CUDA_ELEMENTS
DetectBackendResult make_cuda_detect_backend(std::shared_ptr<const CascadeModel> model,
                                             const DetectSettings& settings, int width, int height,
                                             BackendOwner owner);
DetectBackendResult make_cuda_network_backend(std::shared_ptr<const NetworkModel> model,
                                              const DetectSettings& settings, int width, int height,
                                              BackendOwner owner);
#endif

}  // namespace cuface::gst
