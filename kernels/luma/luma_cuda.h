// luma of a frame in device memory: the bytes of luma().
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/luma/luma.h"

namespace cuface::cuda {

/// Enqueues the kernel that makes a decoder's frame grey. `frame` and `out` lie in device memory;
/// `out` has the frame's size. kInvalidArgument where validate() refuses the frame or the sizes
/// differ. One launch; no allocation, copy or wait. Thread-safe.
Status luma(const FrameView& frame, ImageView<std::uint8_t> out, Launcher launch);

}  // namespace cuface::cuda
