// Keypoints and their descriptors in device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/features/features.h"

namespace cuface::cuda {

struct DeviceFeature {
  std::uint8_t descriptor[kBinaryBytes];
  Keypoint keypoint;
  std::int32_t unused[2];  ///< nobody writes it: descriptors begin at multiples of their size
};
static_assert(sizeof(DeviceFeature) == 64);

/// A list: this, then the features, one behind the other. Its first bytes tell how many there are.
struct DeviceFeatures {
  std::int32_t count, unused[15];
  CUFACE_HD DeviceFeature* all() { return reinterpret_cast<DeviceFeature*>(this + 1); }
  CUFACE_HD const DeviceFeature* all() const {
    return reinterpret_cast<const DeviceFeature*>(this + 1);
  }
};

/// Bytes of a list with so many.
constexpr std::size_t device_features_bytes(std::size_t count) {
  return sizeof(DeviceFeatures) + count * sizeof(DeviceFeature);
}

}  // namespace cuface::cuda
