// cufacelandmark on CUDA.
#include <utility>

#include "gst/base/cuda/deviceframe.h"
#include "gst/base/cuda/sharedincontext.h"
#include "gst/facelandmark/stage.h"
#include "kernels/forest/forest_cuda.h"

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

  Status make_landmarker(int iterations) {
    auto forest = device_forest(*model_);
    if (!forest.ok()) return forest.status();
    auto landmarker = cuda::Landmarker::create(std::move(forest.value()), iterations);
    if (!landmarker.ok()) return landmarker.status();
    landmarker_ = std::move(landmarker.value());
    planned_iterations_ = iterations;
    return {};
  }

  Result<FaceResult> run(Frame& frame, const FaceResult& faces,
                         const LandmarkSettings& settings) override {
    DeviceFrame& device = *frame.device();
    if (settings.iterations != planned_iterations_) {
      if (Status s = device.settle(); !s.ok()) return s;
      if (Status s = make_landmarker(settings.iterations); !s.ok()) return s;
    }
    const auto launch = device.launcher();
    if (!launch.ok()) return launch.status();
    const auto picture = device.luma();
    if (!picture.ok()) return picture.status();
    auto out = device.new_faces(model_->landmarks);
    if (!out.ok()) return out.status();
    const auto in = device.faces(faces);
    if (!in.ok()) return in.status();
    std::string name = detector_of(faces);
    const BoxMap map = box_map_of(settings, *model_, name);
    if (Status s = landmarker_->enqueue(picture.value(), in.value(), map, out.value()->faces(),
                                        launch.value());
        !s.ok())
      return s;
    return device.finish(std::move(out.value()), std::move(name), {});
  }

 private:
  const std::shared_ptr<const ForestModel> model_;
  std::unique_ptr<cuda::Landmarker> landmarker_;
  int planned_iterations_ = 0;
};

}  // namespace

LandmarkStageResult make_cuda_landmark_stage(std::shared_ptr<const ForestModel> model,
                                             const LandmarkSettings& settings) {
  auto stage = std::make_unique<CudaLandmarkStage>(std::move(model));
  if (Status s = stage->make_landmarker(settings.iterations); !s.ok()) return s;
  return LandmarkStageResult(std::move(stage));
}

}  // namespace cuface::gst
