// write of a frame in device memory: the bytes of write_grey() and write_black().
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/luma/luma.h"

namespace cuface::cuda {

/// One launch each; both pictures lie in device memory. kInvalidArgument where validate() refuses
/// the frame or the sizes differ.
Status write_grey(ImageView<const std::uint8_t> picture, const FrameView& frame, Launcher launch);
Status write_black(ImageView<const std::uint8_t> mask, const FrameView& frame, Launcher launch);

}  // namespace cuface::cuda
