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

/// How a list in device memory is read: as much of it as there is.
DeviceSlots::Decoder decoder(const OrbConfig& config, int width, int height) {
  const auto list = [](const std::byte* bytes) {
    return reinterpret_cast<const cuda::DeviceFeatures*>(bytes);
  };
  return {sizeof(cuda::DeviceFeatures),
          [list](const std::byte* bytes) {
            return cuda::device_features_bytes(static_cast<std::size_t>(list(bytes)->count));
          },
          [list, config, width, height](const std::byte* bytes) -> std::shared_ptr<const void> {
            auto features = std::make_shared<FrameFeatures>();
            features->width = width;
            features->height = height;
            features->config.orb = config;
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
    result->set_decoder(decoder(config, width, height));
    auto* list = reinterpret_cast<cuda::DeviceFeatures*>(result->written());
    CUFACE_TRY(detector_->enqueue(luma, list, launch, &device.counters()->front()));
    return device.submit_result<FrameFeatures>(std::move(result));
  }

 private:
  Status prepare(DeviceFrame& device, const OrbConfig& config, int width, int height) {
    if (detector_ && config == config_ && width == width_ && height == height_) return {};
    CUFACE_TRY(device.settle());
    detector_.reset();
    cuda::ScratchLayout layout;
    CUFACE_TAKE(made, cuda::OrbDetector::create(config, width, height, layout));
    CUFACE_TRY(take(cuda::DeviceBuffer<std::byte>::create(layout.bytes()), scratch_));
    made.bind(scratch_.data());
    detector_.emplace(std::move(made));
    config_ = config;
    width_ = width;
    height_ = height;
    return {};
  }

  OrbConfig config_;  ///< of the detector, and its frames' size
  int width_ = 0, height_ = 0;
  std::optional<cuda::OrbDetector> detector_;
  cuda::DeviceBuffer<std::byte> scratch_;
};

}  // namespace

std::unique_ptr<DeviceFeatureFinder> make_device_feature_finder() {
  return std::make_unique<CudaFeatureFinder>();
}

}  // namespace cuface::gst
