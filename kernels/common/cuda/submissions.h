// How far a GPU is in a stream, without a call of the driver.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"

namespace cuface::cuda {

/// Adds 1 to `over`, in pinned host memory, when the work before is over. One launch.
Status count_over(std::uint64_t* over, Launcher launch);

}  // namespace cuface::cuda
