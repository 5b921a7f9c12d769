// Descriptors of a list's keypoints.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/features/device_features.h"
#include "kernels/surf/cuda/layers.h"
#include "kernels/surf/cuda/mipmap.h"

namespace cuface::cuda::surf {

/// Of resized windows, of sums, or of a mipmap. `most`: keypoints of the list, at most. `counted`
/// may be null; it grows by their number.
Status describe_patches(const std::uint8_t* patches, const DescriptorShape& shape,
                        const Tables& tables, int most, const DeviceFloatFeatures& out,
                        std::uint64_t* counted, Launcher launch);
Status describe_sums(const SummedPicture& picture, const DescriptorShape& shape,
                     const Tables& tables, int most, const DeviceFloatFeatures& out,
                     std::uint64_t* counted, Launcher launch);
Status describe_mipmap(const MipmapView& mipmap, const DescriptorShape& shape, const Tables& tables,
                       int most, const DeviceFloatFeatures& out, std::uint64_t* counted,
                       Launcher launch);

}  // namespace cuface::cuda::surf
