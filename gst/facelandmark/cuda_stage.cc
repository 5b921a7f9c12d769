// cufacelandmark on CUDA.
#include <utility>

#include "gst/base/cuda/sharedincontext.h"
#include "gst/facelandmark/stage.h"
#include "gst/faces/cuda/devicefaceframe.h"
#include "kernels/forest/cuda/roll.h"
#include "kernels/landmark_filter/cuda/hold.h"
#include "kernels/landmark_filter/cuda/inertia.h"
#include "kernels/landmark_filter/cuda/smooth.h"
#include "kernels/landmark_samples/landmark_samples_cuda.h"

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

class CudaLandmarkStage final : public LandmarkStage {
 public:
  explicit CudaLandmarkStage(std::shared_ptr<const ForestModel> model) : model_(std::move(model)) {}

  Status make_landmarker(const LandmarkSettings& settings) {
    auto forest = device_forest(*model_);
    if (!forest.ok()) return forest.status();
    auto rolls = cuda::RollMemory::create(forest.value());
    if (!rolls.ok()) return rolls.status();
    auto landmarker =
        cuda::SampledLandmarker::create(std::move(forest.value()), settings.iterations,
                                        settings.samples, settings.refine && settings.follow_roll);
    if (!landmarker.ok()) return landmarker.status();
    landmarker_ = std::move(landmarker.value());
    rolls_ = std::move(rolls.value());
    planned_ = settings;
    return {};
  }

  Result<Landmarks> run(Frame& frame, const FaceResult& faces, const LandmarkSettings& settings,
                        double seconds) override {
    DeviceFaceFrame device(*frame.device());
    if (settings.iterations != planned_.iterations || settings.samples != planned_.samples ||
        settings.refine != planned_.refine || settings.follow_roll != planned_.follow_roll) {
      if (Status s = device.settle(); !s.ok()) return s;
      if (Status s = make_landmarker(settings); !s.ok()) return s;
    }
    const auto launch = device.launcher();
    if (!launch.ok()) return launch.status();
    const auto picture = device.luma();
    if (!picture.ok()) return picture.status();
    auto out = device.new_faces(model_->landmarks);
    if (!out.ok()) return out.status();
    const auto in = device.faces(faces);
    if (!in.ok()) return in.status();
    DetectorName name = detector_of(faces);
    const BoxMap map = box_map_of(settings, *model_, *name);
    if (!settings.follow_roll) rolls_->forget();
    if (Status s =
            landmarker_->enqueue(picture.value(), in.value(), map, out.value()->written(),
                                 launch.value(), settings.follow_roll ? rolls_->known() : nullptr);
        !s.ok())
      return s;
    if (frame.is_gap()) return hold(device, std::move(out.value()), std::move(name));
    if (Status s =
            add_inertia(in.value(), out.value()->written(), settings.inertia, launch.value());
        !s.ok())
      return s;
    if (settings.follow_roll)
      if (Status s = rolls_->remember(out.value()->written(), launch.value()); !s.ok()) return s;
    if (settings.smooth > 0)
      return smoothed(device, std::move(out.value()), std::move(name), settings.smooth, seconds);
    if (smoother_) smoother_->forget();
    auto found = device.finish(std::move(out.value()), std::move(name), {});
    if (!found.ok()) return found.status();
    before_ = found.value();
    return Landmarks{std::move(found.value()), {}};
  }
  void forget() override {
    before_ = {};
    if (smoother_) smoother_->forget();
    if (inertia_) inertia_->forget();
    rolls_->forget();
  }

 private:
  /// `faces` have been made room for, so that those of the frame before lie elsewhere.
  Result<Landmarks> hold(DeviceFaceFrame& device, std::shared_ptr<DeviceFaceResult> faces,
                         DetectorName name) {
    if (before_) {
      const auto launch = device.launcher();
      if (!launch.ok()) return launch.status();
      const auto before = device.faces(before_);
      if (!before.ok()) return before.status();
      if (Status s = cuda::hold_landmarks(before.value(), faces->written(), launch.value());
          !s.ok())
        return s;
    }
    auto held = device.finish(std::move(faces), std::move(name), {});
    if (!held.ok()) return held.status();
    before_ = held.value();
    return Landmarks{std::move(held.value()), {}};
  }
  Status add_inertia(const cuda::DeviceFaces* tracked, cuda::DeviceFaces* faces, float inertia,
                     cuda::Launcher launch) {
    if (inertia <= 0) {
      if (inertia_) inertia_->forget();
      return {};
    }
    if (!inertia_) {
      auto made = cuda::LandmarkInertia::create();
      if (!made.ok()) return made.status();
      inertia_ = std::move(made.value());
    }
    return inertia_->enqueue(tracked, faces, inertia, launch);
  }
  Result<Landmarks> smoothed(DeviceFaceFrame& device, std::shared_ptr<DeviceFaceResult> faces,
                             DetectorName name, float amount, double seconds) {
    if (!smoother_) {
      auto made = cuda::LandmarkSmoother::create();
      if (!made.ok()) return made.status();
      smoother_ = std::move(made.value());
    }
    const auto launch = device.launcher();
    if (!launch.ok()) return launch.status();
    auto smooth = device.new_faces(model_->landmarks);
    if (!smooth.ok()) return smooth.status();
    if (Status s = smoother_->enqueue(faces->written(), smooth.value()->written(), seconds, amount,
                                      launch.value());
        !s.ok())
      return s;
    auto delivered = device.finish(std::move(smooth.value()), name, {});
    if (!delivered.ok()) return delivered.status();
    before_ = delivered.value();
    return Landmarks{std::move(delivered.value()),
                     device.submitted(std::move(faces), std::move(name))};
  }

  const std::shared_ptr<const ForestModel> model_;
  std::unique_ptr<cuda::SampledLandmarker> landmarker_;
  std::unique_ptr<cuda::RollMemory> rolls_;
  std::unique_ptr<cuda::LandmarkInertia> inertia_;  // these two once they are asked for
  std::unique_ptr<cuda::LandmarkSmoother> smoother_;
  FaceResult before_;         // what was delivered for the frame before
  LandmarkSettings planned_;  // what the landmarker was made for
};

}  // namespace

LandmarkStageResult make_cuda_landmark_stage(std::shared_ptr<const ForestModel> model,
                                             const LandmarkSettings& settings) {
  auto stage = std::make_unique<CudaLandmarkStage>(std::move(model));
  if (Status s = stage->make_landmarker(settings); !s.ok()) return s;
  return LandmarkStageResult(std::move(stage));
}

}  // namespace cuface::gst
