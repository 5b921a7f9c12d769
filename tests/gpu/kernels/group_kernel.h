// Lets cuda::Grouper write its groups down.
#pragma once

#include <cstdint>

#include "kernels/group/cuda/grouper.h"

namespace cuface::test {

/// As Grouper::enqueue. `groups` has room for all; `number` is theirs.
Status enqueue_groups(cuda::Grouper& grouper, const Rect* windows, const std::uint32_t* count,
                      Detection* groups, std::uint32_t* number, cuda::Launcher launch);

}  // namespace cuface::test
