// cufacelandmark on CUDA.
#include <utility>

#include "gst/base/cuda/sharedincontext.h"
#include "gst/facelandmark/backend.h"
#include "gst/facelandmark/boxmaps.h"
#include "gst/facelandmark/finder.h"
#include "gst/faces/cuda/devicefaceframe.h"
#include "kernels/common/try.h"
#include "kernels/landmark_filter/landmark_filter_cuda.h"
#include "kernels/landmark_samples/landmark_samples_cuda.h"
#include "kernels/landmarks/cuda/roll.h"

namespace cuface::gst {
namespace {

using ForestRef = std::shared_ptr<const cuda::DeviceForest>;

/// The model in the current context, shared by all elements that use both: it is large.
Result<ForestRef> device_forest(const ForestModel& model) {
  static SharedInContext<const cuda::DeviceForest> shared;
  return shared.get(
      &model, [](const cuda::DeviceForest&) { return true; },
      [&] { return cuda::DeviceForest::create(model); });
}

class CudaLandmarkBackend final : public LandmarkBackend {
 public:
  CudaLandmarkBackend(std::shared_ptr<const ForestModel> model, const StopFlag& stop)
      : model_(std::move(model)), maps_(model_, stop) {}

  Status allocate() {
    CUFACE_TRY(inertia_.allocate());
    return smooth_.allocate();
  }

  Status make_landmarker(const LandmarkSettings& settings) {
    CUFACE_TAKE(forest, device_forest(*model_));
    CUFACE_TAKE(rolls, cuda::RollMemory::create(forest));
    CUFACE_TRY(take(
        cuda::SampledLandmarker::create(std::move(forest), settings.iterations, settings.samples,
                                        settings.refine && settings.follow_roll),
        landmarker_));
    rolls_ = std::move(rolls);
    planned_ = settings;
    return {};
  }

  Result<Landmarks> run(Frame& frame, const FaceResult& faces, const LandmarkSettings& settings,
                        double seconds) override {
    DeviceFaceFrame device(*frame.device());
    if (settings.iterations != planned_.iterations || settings.samples != planned_.samples ||
        settings.refine != planned_.refine || settings.follow_roll != planned_.follow_roll) {
      CUFACE_TRY(device.settle());
      CUFACE_TRY(make_landmarker(settings));
    }
    DetectorName name = detector_of(faces);
    CUFACE_TAKE(map, maps_.map_for(frame, faces, *name, settings));
    CUFACE_TAKE(launch, device.launcher());
    CUFACE_TAKE(picture, device.luma());
    CUFACE_TAKE(out, device.new_faces(model_->landmarks));
    out->set_scheme(scheme_of_model(model_));
    CUFACE_TAKE(in, device.faces(faces));
    if (!settings.follow_roll) rolls_->forget();
    CUFACE_TRY(landmarker_->enqueue(picture, in, map, out->written(), launch,
                                    settings.follow_roll ? rolls_->known() : nullptr));
    if (frame.is_gap()) return pass_gap(device, std::move(out), std::move(name));
    if (settings.inertia > 0)
      CUFACE_TRY(cuda::add_inertia(inertia_, in, out->written(), settings.inertia, launch));
    else
      inertia_.forget();
    if (settings.follow_roll) CUFACE_TRY(rolls_->remember(out->written(), launch));
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
    rolls_->forget();
    maps_.forget();
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
    CUFACE_TAKE(smooth, device.new_faces(model_->landmarks));
    smooth->set_scheme(scheme_of_model(model_));
    CUFACE_TRY(cuda::smooth_landmarks(smooth_, faces->written(), smooth->written(), seconds, amount,
                                      launch));
    CUFACE_TAKE(delivered, device.submit_faces(std::move(smooth), name, {}));
    before_ = delivered;
    return Landmarks{std::move(delivered), device.pending_faces(std::move(faces), std::move(name))};
  }

  const std::shared_ptr<const ForestModel> model_;
  BoxMaps maps_;
  std::unique_ptr<cuda::SampledLandmarker> landmarker_;
  std::unique_ptr<cuda::RollMemory> rolls_;
  cuda::FilterMemory<InertiaState> inertia_;
  cuda::FilterMemory<SmoothState> smooth_;
  FaceResult before_;         // what was delivered for the frame before
  LandmarkSettings planned_;  // what the landmarker was made for
};

}  // namespace

LandmarkBackendResult make_cuda_landmark_backend(std::shared_ptr<const ForestModel> model,
                                                 const LandmarkSettings& settings,
                                                 const StopFlag& stop) {
  auto made = std::make_unique<CudaLandmarkBackend>(std::move(model), stop);
  CUFACE_TRY(made->allocate());
  CUFACE_TRY(made->make_landmarker(settings));
  return LandmarkBackendResult(std::move(made));
}

}  // namespace cuface::gst
