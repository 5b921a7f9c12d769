// Which of the found blobs become keypoints, with their directions.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/features/device_features.h"
#include "kernels/surf/cuda/layers.h"

namespace cuface::cuda::surf {

/// The strongest `most` of those found, and all that equal the last one's response.
Status choose(int most, const BlobWork& work, Launcher launch);

/// Puts the first `most` of these into the list, in the order of the CPU's, with their directions;
/// and what is to be resized of them, for patches of `pixels`, 0: nothing.
Status place(const SummedPicture& picture, const Tables& tables, bool upright, int most, int pixels,
             const BlobWork& work, const DeviceFloatFeatures& out, Launcher launch);

/// The same of those given keypoints that can be described, in their order.
Status admit(const SummedPicture& picture, const Tables& tables, bool upright,
             const DeviceKeypoints& given, int pixels, const BlobWork& work,
             const DeviceFloatFeatures& out, Launcher launch);

}  // namespace cuface::cuda::surf
