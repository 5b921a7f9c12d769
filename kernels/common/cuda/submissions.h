// How far a GPU is in a stream, without a call of the driver.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/cuda/tally.h"
#include "kernels/common/status.h"

namespace cuface::cuda {

/// When the work before is over: tells the first `count` words of `counts`, at most a warp's, and
/// adds 1 to `over`. One launch.
Status count_over(Tally<std::uint64_t> over, Tally<std::uint64_t> counts, std::size_t count,
                  Launcher launch);

}  // namespace cuface::cuda
