// Inertia of landmarks in device memory: the bits of inertia.h.
#pragma once

#include "kernels/common/launch_cuda.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"

namespace cuface::cuda {

/// `faces` have landmarks, in the boxes of `tracked`, which is of the same frame and has the
/// followed ones, if any. One launch; no allocation, copy or wait. kInvalidArgument where one is
/// null.
Status add_inertia(const DeviceFaces* tracked, DeviceFaces* faces, float inertia, Launcher launch);

}  // namespace cuface::cuda
