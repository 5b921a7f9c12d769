#include "kernels/keypoints/cuda/finder.h"

#include <algorithm>
#include <utility>

#include "kernels/common/try.h"

namespace cuface::cuda {
namespace {

const DeviceFeatures* binary(const std::byte* list) {
  return reinterpret_cast<const DeviceFeatures*>(list);
}

/// To be read only.
DeviceFloatFeatures floating(const std::byte* list, int floats) {
  return {const_cast<std::byte*>(list), floats};
}

}  // namespace

Result<FeatureFinder> FeatureFinder::create(const FeatureConfig& config, int width, int height,
                                            ScratchLayout& layout) {
  CUFACE_TRY(validate(config));
  FeatureFinder made;
  int given = 0;
  if (config.detector == FeatureDetector::kFast) {
    CUFACE_TAKE(orb, OrbDetector::create(config.orb, width, height, layout));
    made.orb_.emplace(std::move(orb));
    given = static_cast<int>(made.orb_->most());
  }
  if (config.descriptor == FeatureDescriptor::kSurf) {
    if (made.orb_) {
      made.corners_ = layout.add<std::byte>(device_features_bytes(made.orb_->most()));
      given = std::max(given, 1);
    }
    CUFACE_TAKE(surf, SurfDetector::create(config.surf, width, height, given, layout));
    made.surf_.emplace(std::move(surf));
  }
  return Result<FeatureFinder>(std::move(made));
}

void FeatureFinder::bind(std::byte* scratch) {
  if (orb_) orb_->bind(scratch);
  if (surf_) surf_->bind(scratch);
  corners_.bind(scratch);
}

std::size_t FeatureFinder::list_bytes() const {
  return surf_ ? device_float_features_bytes(surf_->most(), surf_->floats())
               : device_features_bytes(orb_->most());
}

Status FeatureFinder::enqueue(ImageView<const std::uint8_t> grey, std::byte* out, Launcher launch,
                              std::uint64_t* counted) const {
  if (!orb_) return surf_->enqueue(grey, out, launch, counted);
  auto* corners = reinterpret_cast<DeviceFeatures*>(surf_ ? corners_.data() : out);
  CUFACE_TRY(orb_->enqueue(grey, corners, launch, surf_ ? nullptr : counted));
  if (!surf_) return {};
  return surf_->describe(grey, keypoints_of(corners, static_cast<int>(orb_->most())), out, launch,
                         counted);
}

std::size_t most_of_list(std::size_t bytes, int floats) {
  const std::size_t each =
      floats == 0 ? sizeof(DeviceFeature) : DeviceFloatFeatures::stride_of(floats);
  return (bytes - sizeof(DeviceFeatures)) / each;
}

DeviceKeypoints keypoints_of_list(const std::byte* list, int floats, int most) {
  return floats == 0 ? keypoints_of(binary(list), most)
                     : keypoints_of(floating(list, floats), most);
}

std::size_t filled_bytes(const std::byte* list, int floats) {
  const auto count = static_cast<std::size_t>(binary(list)->count);
  return floats == 0 ? device_features_bytes(count) : device_float_features_bytes(count, floats);
}

Features features_of_list(const std::byte* list, int floats) {
  Features out;
  const auto count = static_cast<std::size_t>(binary(list)->count);
  out.keypoints.resize(count);
  out.signs.resize(count);
  if (floats == 0) {
    out.descriptors.resize(kBinaryBytes * count);
    for (std::size_t i = 0; i < count; ++i) {
      const DeviceFeature& one = binary(list)->all()[i];
      out.keypoints[i] = one.keypoint;
      out.signs[i] = one.sign;
      std::copy_n(one.descriptor, kBinaryBytes, &out.descriptors[kBinaryBytes * i]);
    }
    return out;
  }
  const auto each = static_cast<std::size_t>(floats);
  out.floats.resize(each * count);
  for (std::size_t i = 0; i < count; ++i) {
    const DeviceFloatFeatures all = floating(list, floats);
    out.keypoints[i] = all.keypoint(i).keypoint;
    out.signs[i] = all.keypoint(i).sign;
    std::copy_n(all.descriptor(i), each, &out.floats[each * i]);
  }
  return out;
}

}  // namespace cuface::cuda
