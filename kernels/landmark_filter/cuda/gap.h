// Landmarks on a frame whose picture says nothing, in device memory: the bits of gap.h.
#pragma once

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"

namespace cuface::cuda {

/// As forest::keep_landmarks(). Nothing where the lists have different numbers of landmarks. One
/// launch, which keeps nothing. kInvalidArgument where one of the two is null.
Status keep_landmarks(const DeviceFaces* before, DeviceFaces* faces, Launcher launch);

}  // namespace cuface::cuda
