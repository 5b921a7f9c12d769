#include "gst/faceoverlay/cuda_draw.h"

#include <utility>

#include "gst/faces/cuda/devicefaceframe.h"
#include "kernels/common/try.h"
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
      CUFACE_TRY(device.settle());
      CUFACE_TRY(take(cuda::Overlay::create(landmarks), overlay_));
      landmarks_ = landmarks;
    }
    CUFACE_TAKE(known, device.faces(faces));
    return frame.device()->draw([&](const FrameView& view, cuda::Launcher launch) {
      return overlay_->enqueue(view, matrix, known, style, launch);
    });
  }

 private:
  std::unique_ptr<cuda::Overlay> overlay_;
  int landmarks_ = -1;  // none made yet
};

}  // namespace

std::unique_ptr<DeviceDrawer> make_device_drawer() { return std::make_unique<CudaDrawer>(); }

}  // namespace cuface::gst
