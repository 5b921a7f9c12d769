#include "gst/faceoverlay/cuda_draw.h"

#include <utility>

#include "gst/faces/cuda/devicefaceframe.h"
#include "kernels/common/try.h"
#include "kernels/overlay/overlay_cuda.h"
#include "kernels/overlay/picture_cuda.h"
#include "kernels/planar/cuda/steps.h"

namespace cuface::gst {
namespace {

class CudaDrawer final : public DeviceDrawer {
 public:
  Status draw(Frame& frame, const FaceResult& faces, const PlanarFound& planar, ColorMatrix matrix,
              const OverlayStyle& style, FacePicture* picture) override {
    if (!(style.draw & kDrawImage)) picture = nullptr;
    const cuda::DeviceFaces* known = nullptr;
    if (faces) CUFACE_TRY(take_faces(*frame.device(), faces, known));
    cuda::overlay::PlaneJob planes{};
    if (picture && planar) CUFACE_TRY(take_planes(frame, planar, planes));
    if (!known && planes.most == 0) return {};
    const LandmarkSchemeRef scheme = faces ? scheme_of(faces) : nullptr;
    return frame.device()->draw([&](const FrameView& view, cuda::Launcher launch) -> Status {
      OverlayStyle own = style;
      if (picture) {
        CUFACE_TRY(take_over(*frame.device(), *picture, view, matrix));
        own.picture = &picture_.levels();
      }
      if (known) CUFACE_TRY(overlay_->enqueue(view, matrix, known, scheme.get(), own, launch));
      if (planes.most == 0) return {};
      planes.frame = view;
      planes.levels = picture_.levels();
      return cuda::overlay::draw_pictures(planes, launch);
    });
  }

 private:
  Status take_faces(DeviceFrame& frame, const FaceResult& faces, const cuda::DeviceFaces*& known) {
    DeviceFaceFrame device(frame);
    if (const int landmarks = landmarks_capacity(faces); landmarks > landmarks_) {
      // On the first frame, or behind a model with more points.
      CUFACE_TRY(device.settle());
      CUFACE_TRY(take(cuda::Overlay::create(landmarks), overlay_));
      landmarks_ = landmarks;
    }
    return take(device.faces(faces), known);
  }

  Status take_planes(Frame& frame, const PlanarFound& planar, cuda::overlay::PlaneJob& planes) {
    const auto result = on_device<RawDeviceResult>(planar.pending);
    if (!result || result->width() != frame.width() || result->height() != frame.height())
      return not_here();
    CUFACE_TAKE(bytes, frame.device()->use(result));
    if (!bytes) return not_here();
    const auto* objects = reinterpret_cast<const cuda::DevicePlanarObjects*>(bytes);
    const std::size_t most = (result->slot_bytes() - sizeof *objects) / sizeof *objects->all();
    if (most > places_.size()) {
      CUFACE_TRY(frame.device()->settle());
      CUFACE_TRY(take(cuda::DeviceBuffer<raster::PlanePlace>::create(most), places_));
    }
    planes.count = &objects->count;
    planes.corners = objects->all()->pose.corners;
    planes.stride = sizeof *objects->all();
    planes.most = static_cast<int>(most);
    planes.places = places_.data();
    return {};
  }
  static Status not_here() {
    return {StatusCode::kUnsupported,
            "draw=image: flat objects were found elsewhere than on this GPU, or in frames of "
            "another size; put cuplanartrack right before cufaceoverlay, or cudadownload before "
            "both"};
  }

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
  cuda::DeviceBuffer<raster::PlanePlace> places_;
  int landmarks_ = -1;  // none made yet
};

}  // namespace

std::unique_ptr<DeviceDrawer> make_device_drawer() { return std::make_unique<CudaDrawer>(); }

}  // namespace cuface::gst
