// overlay of a frame in device memory: the bytes of draw_faces(), from faces in device memory.
#pragma once

#include <memory>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/overlay/overlay.h"

namespace cuface::cuda {

/// Draws into the frames of one chain. Owns the list of lines that one frame's faces need: calls
/// share it, so they go to one stream, or to streams that wait for each other.
class Overlay {
 public:
  /// `landmarks`: the greatest landmarks_per_face; faces that have more are drawn without them.
  static Result<std::unique_ptr<Overlay>> create(int landmarks);
  virtual ~Overlay() = default;

  /// Enqueues the drawing of `faces` (pixels of this frame) into `frame` (device memory, in place).
  /// `scheme`, in host memory: what their landmarks stand for; null = that of their number.
  /// Launches only: no allocation, copy or wait. What is drawn of how
  /// many faces is decided on the device; `style`, `matrix` and the frame's layout and address are
  /// those of this call. The pixels of style.picture are in device memory too (DevicePicture).
  virtual Status enqueue(const FrameView& frame, ColorMatrix matrix, const DeviceFaces* faces,
                         const LandmarkScheme* scheme, const OverlayStyle& style,
                         Launcher launch) = 0;
};

}  // namespace cuface::cuda
