// Windows around keypoints, turned and resized.
#pragma once

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/surf/cuda/layers.h"

namespace cuface::cuda::surf {

/// Fills work.patches, of `most` keypoints at most.
Status resize_windows(const SummedPicture& picture, int pixels, bool upright, int most,
                      const BlobWork& work, Launcher launch);

}  // namespace cuface::cuda::surf
