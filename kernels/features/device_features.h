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
  std::int8_t sign;       ///< as in BinaryFeatures
  std::int8_t unused[7];  ///< nobody writes it: descriptors begin at multiples of their size
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

/// Behind a descriptor of floats.
struct DeviceFloatKeypoint {
  Keypoint keypoint;
  std::int8_t sign;  ///< as in FloatFeatures
  std::int8_t unused[7];
};
static_assert(sizeof(DeviceFloatKeypoint) == 32);

/// A list with descriptors of `floats` floats, a multiple of four; somebody else owns the memory. A
/// header of DeviceFeatures begins it, and so its first bytes tell how many there are. Then each
/// feature's floats, and its DeviceFloatKeypoint.
struct DeviceFloatFeatures {
  std::byte* bytes;
  int floats;

  CUFACE_HD static constexpr std::size_t stride_of(int floats) {
    return static_cast<std::size_t>(floats) * sizeof(float) + sizeof(DeviceFloatKeypoint);
  }
  CUFACE_HD std::int32_t& count() const { return reinterpret_cast<DeviceFeatures*>(bytes)->count; }
  CUFACE_HD float* descriptor(std::size_t i) const {
    return reinterpret_cast<float*>(bytes + sizeof(DeviceFeatures) + i * stride_of(floats));
  }
  CUFACE_HD DeviceFloatKeypoint& keypoint(std::size_t i) const {
    return *reinterpret_cast<DeviceFloatKeypoint*>(descriptor(i) + floats);
  }
};
constexpr std::size_t device_float_features_bytes(std::size_t count, int floats) {
  return sizeof(DeviceFeatures) + count * DeviceFloatFeatures::stride_of(floats);
}

/// Keypoints in device memory, each of them in something larger.
struct DeviceKeypoints {
  const std::byte* first;
  std::size_t stride;         ///< bytes from one to the next
  const std::int32_t* count;  ///< how many there are; null: `most`
  std::int32_t most;

  CUFACE_HD int there() const {
    const int all = count ? *count : most;
    return all < most ? all : most;
  }
  CUFACE_HD const Keypoint& at(int i) const {
    return *reinterpret_cast<const Keypoint*>(first + static_cast<std::size_t>(i) * stride);
  }
};
inline DeviceKeypoints keypoints_of(const DeviceFeatures* list, int most) {
  return {reinterpret_cast<const std::byte*>(&list->all()->keypoint), sizeof(DeviceFeature),
          &list->count, most};
}
inline DeviceKeypoints keypoints_of(const DeviceFloatFeatures& list, int most) {
  return {reinterpret_cast<const std::byte*>(&list.keypoint(0).keypoint),
          DeviceFloatFeatures::stride_of(list.floats), &list.count(), most};
}

}  // namespace cuface::cuda
