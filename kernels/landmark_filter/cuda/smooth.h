// Landmarks smoothed in time in device memory: the bits of smooth.h.
#pragma once

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/faces/faces_cuda.h"
#include "kernels/landmark_filter/cuda/memory.h"
#include "kernels/landmark_filter/smooth.h"

namespace cuface::cuda {

/// `to`, which is not `from`, gets the faces with their landmarks smoothed; all as
/// forest::smooth_landmarks(). One launch. kInvalidArgument where one of them is null, or they are
/// the same.
Status smooth_landmarks(FilterMemory<SmoothState>& memory, const DeviceFaces* from, DeviceFaces* to,
                        double seconds, float smooth, Launcher launch);

}  // namespace cuface::cuda
