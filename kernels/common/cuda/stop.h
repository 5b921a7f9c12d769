// How a long search on a GPU is ended: it looks between its launches.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"

namespace cuface::cuda {

/// What look() reads and writes; both outlive the work.
struct StopLook {
  const std::uint32_t* stop =
      nullptr;                  ///< pinned host memory, a StopFlag's mirror; null = no looks
  std::int32_t* run = nullptr;  ///< device memory: the flag that the search's kernels read
};

/// *run = 0 where *stop is not 0, for the launches behind. One launch; none without a stop.
Status look(const StopLook& look, Launcher launch);

}  // namespace cuface::cuda
