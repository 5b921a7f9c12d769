// turn on CUDA: the bytes of turn_picture().
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/turn/turn.h"

namespace cuface::cuda {

/// As cuface::turn_picture(), in device memory. Nothing is written where `run` (device memory) is
/// not null and *run is 0. One launch; no allocation, copy or wait. Thread-safe.
Status turn_picture(ImageView<const std::uint8_t> picture, const Turn& turn,
                    ImageView<std::uint8_t> canvas, const std::int32_t* run, Launcher launch);

}  // namespace cuface::cuda
