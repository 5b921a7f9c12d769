#include "gst/faceoverlay/cuda_draw.h"

#include <utility>

#include "gst/faces/cuda/devicefaceframe.h"
#include "kernels/common/try.h"
#include "kernels/overlay/overlay_cuda.h"
#include "kernels/overlay/picture_cuda.h"

namespace cuface::gst {
namespace {

class CudaDrawer final : public DeviceDrawer {
 public:
  Status draw(Frame& frame, const FaceResult& faces, ColorMatrix matrix, const OverlayStyle& style,
              FacePicture* picture) override {
    DeviceFaceFrame device(*frame.device());
    if (const int landmarks = landmarks_capacity(faces); landmarks > landmarks_) {
      // On the first frame, or behind a model with more points.
      CUFACE_TRY(device.settle());
      CUFACE_TRY(take(cuda::Overlay::create(landmarks), overlay_));
      landmarks_ = landmarks;
    }
    CUFACE_TAKE(known, device.faces(faces));
    const LandmarkSchemeRef scheme = scheme_of(faces);
    return frame.device()->draw([&](const FrameView& view, cuda::Launcher launch) -> Status {
      OverlayStyle own = style;
      if (picture && (style.draw & kDrawImage)) {
        CUFACE_TRY(take_over(*frame.device(), *picture, view, matrix));
        own.picture = &picture_.levels();
      }
      return overlay_->enqueue(view, matrix, known, scheme.get(), own, launch);
    });
  }

 private:
  /// Copies the picture's samples for frames like this one: before the first, and where others have
  /// other colours.
  Status take_over(DeviceFrame& device, FacePicture& picture, const FrameView& view,
                   ColorMatrix matrix) {
    const raster::PictureLevels& levels = picture.in(view, matrix);
    if (picture.changes() == picture_changes_) return {};
    CUFACE_TRY(device.settle());
    CUFACE_TRY(take(cuda::DevicePicture::create(levels), picture_));
    picture_changes_ = picture.changes();
    return {};
  }

  std::unique_ptr<cuda::Overlay> overlay_;
  cuda::DevicePicture picture_;
  int picture_changes_ = 0;  ///< of the picture copied; 0 = none
  int landmarks_ = -1;       // none made yet
};

}  // namespace

std::unique_ptr<DeviceDrawer> make_device_drawer() { return std::make_unique<CudaDrawer>(); }

}  // namespace cuface::gst
