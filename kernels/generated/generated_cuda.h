// generated on CUDA: the pictures of generate_background(), left in device memory.
#pragma once

#include <cstddef>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/generated/generated.h"

namespace cuface::cuda {

/// Writes a picture for each of `pictures` scenes, both in device memory, by one launch: the first
/// to `first`, of kGeneratedWidth x kGeneratedHeight (else kInvalidArgument), each `apart` bytes
/// behind the one before.
Status generate_backgrounds(const GeneratedScene* scenes, unsigned pictures,
                            ImageView<std::uint8_t> first, std::size_t apart, Launcher launch);

}  // namespace cuface::cuda
