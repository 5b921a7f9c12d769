#include "gst/features/cuda_features.h"

#include <optional>
#include <utility>

#include "gst/base/cuda/deviceframe.h"
#include "gst/meta/keypoints.h"
#include "kernels/common/try.h"
#include "kernels/features/device_features.h"
#include "kernels/keypoints/cuda/finder.h"

namespace cuface::gst {
namespace {

/// How a list in device memory is read: as much of it as there is. The rest is in the outline.
DeviceSlots::Decoder decoder(FrameFeaturesRef outline, int floats) {
  return {sizeof(cuda::DeviceFeatures),
          [floats](const std::byte* bytes) { return cuda::filled_bytes(bytes, floats); },
          [floats, outline](const std::byte* bytes) -> std::shared_ptr<const void> {
            auto features = std::make_shared<FrameFeatures>(*outline);
            features->found = cuda::features_of_list(bytes, floats);
            return features;
          }};
}

class CudaFeatureFinder final : public DeviceFeatureFinder {
 public:
  Status find(Frame& frame, const FeatureConfig& config) override {
    DeviceFrame& device = *frame.device();
    const int width = frame.width(), height = frame.height();
    CUFACE_TRY(prepare(device, config, width, height));
    CUFACE_TAKE(launch, device.launcher());
    CUFACE_TAKE(luma, device.luma());
    CUFACE_TAKE(slots, device.slots(finder_->list_bytes()));
    CUFACE_TAKE(result, DeviceResult::create<RawDeviceResult>(std::move(slots)));
    result->set_decoder(decoder(outline_, finder_->floats()));
    result->set_outline(outline_);
    CUFACE_TRY(finder_->enqueue(luma, result->written(), launch, &device.counters()->front()));
    return device.submit_result<FrameFeatures>(std::move(result));
  }

 private:
  Status prepare(DeviceFrame& device, const FeatureConfig& config, int width, int height) {
    if (finder_ && config == outline_->config && width == outline_->width &&
        height == outline_->height)
      return {};
    CUFACE_TRY(device.settle());
    finder_.reset();
    cuda::ScratchLayout layout;
    CUFACE_TAKE(made, cuda::FeatureFinder::create(config, width, height, layout));
    CUFACE_TRY(take(cuda::DeviceBuffer<std::byte>::create(layout.bytes()), scratch_));
    made.bind(scratch_.data());
    finder_.emplace(std::move(made));
    auto outline = std::make_shared<FrameFeatures>();
    outline->width = width;
    outline->height = height;
    outline->config = config;
    outline_ = std::move(outline);
    return {};
  }

  FrameFeaturesRef outline_;  ///< of what is found
  std::optional<cuda::FeatureFinder> finder_;
  cuda::DeviceBuffer<std::byte> scratch_;
};

}  // namespace

std::unique_ptr<DeviceFeatureFinder> make_device_feature_finder() {
  return std::make_unique<CudaFeatureFinder>();
}

}  // namespace cuface::gst
