#include <utility>

#include "gst/base/cuda/sharedincontext.h"
#include "gst/facelandmark/boxmaps.h"
#include "gst/facelandmark/cuda_finder.h"
#include "kernels/common/try.h"
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

class DeviceForestFinder final : public DeviceLandmarkFinder {
 public:
  DeviceForestFinder(std::shared_ptr<const ForestModel> model, const StopFlag& stop)
      : model_(std::move(model)), maps_(model_, stop) {}

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

  Status look_at(Frame& frame, DeviceFaceFrame& device, const FaceResult& faces,
                 const std::string& detector, const LandmarkSettings& settings) override {
    if (settings.iterations != planned_.iterations || settings.samples != planned_.samples ||
        settings.refine != planned_.refine || settings.follow_roll != planned_.follow_roll) {
      CUFACE_TRY(device.settle());
      CUFACE_TRY(make_landmarker(settings));
    }
    return take(maps_.map_for(frame, faces, detector, settings), map_);
  }
  Status find(ImageView<const std::uint8_t> luma, const cuda::DeviceFaces* in,
              cuda::DeviceFaces* out, const LandmarkSettings& settings,
              cuda::Launcher launch) override {
    if (!settings.follow_roll) rolls_->forget();
    return landmarker_->enqueue(luma, in, map_, out, launch,
                                settings.follow_roll ? rolls_->known() : nullptr);
  }
  Status remember(const cuda::DeviceFaces* faces, const LandmarkSettings& settings,
                  cuda::Launcher launch) override {
    return settings.follow_roll ? rolls_->remember(faces, launch) : Status{};
  }
  void forget() override {
    rolls_->forget();
    maps_.forget();
  }

 private:
  const std::shared_ptr<const ForestModel> model_;
  BoxMaps maps_;
  BoxMap map_;
  std::unique_ptr<cuda::SampledLandmarker> landmarker_;
  std::unique_ptr<cuda::RollMemory> rolls_;
  LandmarkSettings planned_;  // what the landmarker was made for
};

}  // namespace

DeviceLandmarkFinderResult make_device_forest_finder(std::shared_ptr<const ForestModel> model,
                                                     const LandmarkSettings& settings,
                                                     const StopFlag& stop) {
  auto made = std::make_unique<DeviceForestFinder>(std::move(model), stop);
  CUFACE_TRY(made->make_landmarker(settings));
  return DeviceLandmarkFinderResult(std::move(made));
}

}  // namespace cuface::gst
