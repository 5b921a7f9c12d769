#include "gst/faceoverlay/cuda_draw.h"

#include <utility>

#include "gst/faces/cuda/devicefaceframe.h"
#include "kernels/overlay/overlay_cuda.h"

namespace cuface::gst {
namespace {

class CudaDrawer final : public DeviceDrawer {
 public:
  Status draw(Frame& frame, const FaceResult& faces, ColorMatrix matrix,
              const OverlayStyle& style) override {
    DeviceFaceFrame device(*frame.device());
    if (const int landmarks = landmarks_capacity(faces); landmarks > landmarks_) {
      // On the first frame, or behind a model with more points.
      if (Status s = device.settle(); !s.ok()) return s;
      auto overlay = cuda::Overlay::create(landmarks);
      if (!overlay.ok()) return overlay.status();
      overlay_ = std::move(overlay.value());
      landmarks_ = landmarks;
    }
    const auto known = device.faces(faces);
    if (!known.ok()) return known.status();
    return frame.device()->draw([&](const FrameView& view, cuda::Launcher launch) {
      return overlay_->enqueue(view, matrix, known.value(), style, launch);
    });
  }

 private:
  std::unique_ptr<cuda::Overlay> overlay_;
  int landmarks_ = -1;  // none made yet
};

}  // namespace

std::unique_ptr<DeviceDrawer> make_device_drawer() { return std::make_unique<CudaDrawer>(); }

}  // namespace cuface::gst
