// generated on CUDA: the pictures of generate_background(), left in device memory.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"

namespace cuface::cuda {

/// Writes picture number `picture` of a seed to `out`, in device memory, of kGeneratedWidth x
/// kGeneratedHeight (else kInvalidArgument). One launch.
Status generate_background(std::uint64_t seed, std::uint64_t picture, ImageView<std::uint8_t> out,
                           Launcher launch);

}  // namespace cuface::cuda
