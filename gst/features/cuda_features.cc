#include "gst/features/cuda_features.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "gst/base/cuda/deviceframe.h"
#include "gst/meta/keypoints.h"
#include "kernels/common/try.h"
#include "kernels/features/device_features.h"
#include "kernels/orb/cuda/detector.h"

namespace cuface::gst {
namespace {

/// How a list in device memory is read: as much of it as there is. The rest is in the outline.
DeviceSlots::Decoder decoder(FrameFeaturesRef outline) {
  const auto list = [](const std::byte* bytes) {
    return reinterpret_cast<const cuda::DeviceFeatures*>(bytes);
  };
  return {sizeof(cuda::DeviceFeatures),
          [list](const std::byte* bytes) {
            return cuda::device_features_bytes(static_cast<std::size_t>(list(bytes)->count));
          },
          [list, outline](const std::byte* bytes) -> std::shared_ptr<const void> {
            auto features = std::make_shared<FrameFeatures>(*outline);
            BinaryFeatures& found = features->found;
            const auto count = static_cast<std::size_t>(list(bytes)->count);
            found.keypoints.resize(count);
            found.descriptors.resize(kBinaryBytes * count);
            for (std::size_t i = 0; i < count; ++i) {
              const cuda::DeviceFeature& one = list(bytes)->all()[i];
              found.keypoints[i] = one.keypoint;
              std::copy_n(one.descriptor, kBinaryBytes, &found.descriptors[kBinaryBytes * i]);
            }
            return features;
          }};
}

class CudaFeatureFinder final : public DeviceFeatureFinder {
 public:
  Status find(Frame& frame, const OrbConfig& config) override {
    DeviceFrame& device = *frame.device();
    const int width = frame.width(), height = frame.height();
    CUFACE_TRY(prepare(device, config, width, height));
    CUFACE_TAKE(launch, device.launcher());
    CUFACE_TAKE(luma, device.luma());
    CUFACE_TAKE(slots, device.slots(cuda::device_features_bytes(detector_->most())));
    CUFACE_TAKE(result, DeviceResult::create<RawDeviceResult>(std::move(slots)));
    result->set_decoder(decoder(outline_));
    result->set_outline(outline_);
    auto* list = reinterpret_cast<cuda::DeviceFeatures*>(result->written());
    CUFACE_TRY(detector_->enqueue(luma, list, launch, &device.counters()->front()));
    return device.submit_result<FrameFeatures>(std::move(result));
  }

 private:
  Status prepare(DeviceFrame& device, const OrbConfig& config, int width, int height) {
    if (detector_ && config == outline_->config.orb && width == outline_->width &&
        height == outline_->height)
      return {};
    CUFACE_TRY(device.settle());
    detector_.reset();
    cuda::ScratchLayout layout;
    CUFACE_TAKE(made, cuda::OrbDetector::create(config, width, height, layout));
    CUFACE_TRY(take(cuda::DeviceBuffer<std::byte>::create(layout.bytes()), scratch_));
    made.bind(scratch_.data());
    detector_.emplace(std::move(made));
    auto outline = std::make_shared<FrameFeatures>();
    outline->width = width;
    outline->height = height;
    outline->config.orb = config;
    outline_ = std::move(outline);
    return {};
  }

  FrameFeaturesRef outline_;  ///< of what the detector finds
  std::optional<cuda::OrbDetector> detector_;
  cuda::DeviceBuffer<std::byte> scratch_;
};

}  // namespace

std::unique_ptr<DeviceFeatureFinder> make_device_feature_finder() {
  return std::make_unique<CudaFeatureFinder>();
}

}  // namespace cuface::gst
