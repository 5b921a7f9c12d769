// Windows around keypoints, turned and resized.
#pragma once

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/surf/cuda/layers.h"

namespace cuface::cuda::surf {

/// Fills work.patches, a block each of work.rows. `expected`: how many these are, about; more take
/// longer.
Status resize_windows(const SummedPicture& picture, int pixels, std::size_t expected,
                      const BlobWork& work, Launcher launch);

}  // namespace cuface::cuda::surf
