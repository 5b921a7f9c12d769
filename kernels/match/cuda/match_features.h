// Lists of features in device memory as sets to be matched.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/features/device_features.h"
#include "kernels/match/cuda/nearest.h"

namespace cuface::cuda {

/// Of a list with up to `most`.
inline DeviceBinarySet binary_set(const DeviceFeatures* list, std::int32_t most) {
  return {list->all()->descriptor, sizeof(DeviceFeature), &list->count, most, kBinaryBytes,
          &list->all()->sign,      sizeof(DeviceFeature)};
}
inline DeviceFloatSet float_set(const DeviceFloatFeatures& list, std::int32_t most) {
  const auto stride = static_cast<std::ptrdiff_t>(DeviceFloatFeatures::stride_of(list.floats));
  return {list.descriptor(0),     stride, &list.count(), most, list.floats,
          &list.keypoint(0).sign, stride};
}

}  // namespace cuface::cuda
