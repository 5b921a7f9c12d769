// cufacelandmark on CUDA.
#include <utility>

#include "gst/facelandmark/cuda_finder.h"
#include "kernels/common/try.h"
#include "kernels/landmark_filter/landmark_filter_cuda.h"

namespace cuface::gst {
namespace {

class CudaLandmarkBackend final : public LandmarkBackend {
 public:
  CudaLandmarkBackend(std::unique_ptr<DeviceLandmarkFinder> finder, const LandmarkModel& model)
      : finder_(std::move(finder)), points_(points_of(model)), scheme_(scheme_of(model)) {}

  Status allocate() {
    CUFACE_TRY(inertia_.allocate());
    return smooth_.allocate();
  }

  Result<Landmarks> run(Frame& frame, const FaceResult& faces, const LandmarkSettings& settings,
                        double seconds) override {
    DeviceFaceFrame device(*frame.device());
    DetectorName name = detector_of(faces);
    CUFACE_TRY(finder_->look_at(frame, device, faces, *name, settings));
    CUFACE_TAKE(launch, device.launcher());
    CUFACE_TAKE(picture, device.luma());
    CUFACE_TAKE(out, device.new_faces(points_));
    out->set_scheme(scheme_);
    CUFACE_TAKE(in, device.faces(faces));
    CUFACE_TRY(finder_->find(picture, in, out->written(), settings, launch));
    if (frame.is_gap()) return pass_gap(device, std::move(out), std::move(name));
    if (settings.inertia > 0)
      CUFACE_TRY(cuda::add_inertia(inertia_, in, out->written(), settings.inertia, launch));
    else
      inertia_.forget();
    CUFACE_TRY(finder_->remember(out->written(), settings, launch));
    if (settings.smooth > 0)
      return smoothed(device, std::move(out), std::move(name), settings.smooth, seconds);
    smooth_.forget();
    CUFACE_TAKE(found, device.submit_faces(std::move(out), std::move(name), {}));
    before_ = found;
    return Landmarks{std::move(found), {}};
  }
  void forget() override {
    before_ = {};
    smooth_.forget();
    inertia_.forget();
    finder_->forget();
  }

 private:
  /// `faces` have been made room for, so that those of the frame before lie elsewhere.
  Result<Landmarks> pass_gap(DeviceFaceFrame& device, std::shared_ptr<DeviceFaceResult> faces,
                             DetectorName name) {
    if (before_) {
      CUFACE_TAKE(launch, device.launcher());
      CUFACE_TAKE(before, device.faces(before_));
      CUFACE_TRY(cuda::keep_landmarks(before, faces->written(), launch));
    }
    CUFACE_TAKE(passed, device.submit_faces(std::move(faces), std::move(name), {}));
    before_ = passed;
    return Landmarks{std::move(passed), {}};
  }
  Result<Landmarks> smoothed(DeviceFaceFrame& device, std::shared_ptr<DeviceFaceResult> faces,
                             DetectorName name, float amount, double seconds) {
    CUFACE_TAKE(launch, device.launcher());
    CUFACE_TAKE(smooth, device.new_faces(points_));
    smooth->set_scheme(scheme_);
    CUFACE_TRY(cuda::smooth_landmarks(smooth_, faces->written(), smooth->written(), seconds, amount,
                                      launch));
    CUFACE_TAKE(delivered, device.submit_faces(std::move(smooth), name, {}));
    before_ = delivered;
    return Landmarks{std::move(delivered), device.pending_faces(std::move(faces), std::move(name))};
  }

  const std::unique_ptr<DeviceLandmarkFinder> finder_;
  const int points_;
  const LandmarkSchemeRef scheme_;
  cuda::FilterMemory<InertiaState> inertia_;
  cuda::FilterMemory<SmoothState> smooth_;
  FaceResult before_;  // what was delivered for the frame before
};

}  // namespace

LandmarkBackendResult make_cuda_landmark_backend(const LandmarkModel& model,
                                                 const LandmarkSettings& settings,
                                                 const StopFlag& stop) {
  CUFACE_TAKE(finder, model.shape ? make_device_shape_finder(model, settings.start, stop)
                                  : make_device_forest_finder(model.forest, settings, stop));
  auto made = std::make_unique<CudaLandmarkBackend>(std::move(finder), model);
  CUFACE_TRY(made->allocate());
  return LandmarkBackendResult(std::move(made));
}

}  // namespace cuface::gst
