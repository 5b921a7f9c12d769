// Inertia of landmarks in device memory: the bits of inertia.h.
#pragma once

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/landmark_filter/cuda/memory.h"
#include "kernels/landmark_filter/inertia.h"

namespace cuface::cuda {

/// `faces` have landmarks, in the boxes of `tracked`, which is of the same frame and has the
/// followed ones, if any; all as forest::add_inertia(). One launch. kInvalidArgument where one of
/// them is null.
Status add_inertia(FilterMemory<InertiaState>& memory, const DeviceFaces* tracked,
                   DeviceFaces* faces, float inertia, Launcher launch);

}  // namespace cuface::cuda
