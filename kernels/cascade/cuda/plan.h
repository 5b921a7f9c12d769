// How the levels of a search on CUDA are cut into tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cascade/cuda/search.h"

namespace cuface::cuda {

std::uint64_t tiles_of(const WindowLevel& level);

/// Makes the last tiles lower than they may be, so that the blocks of a GPU, `at_once` of which run
/// side by side, have something to do until about the same time. The levels come in the order in
/// which they are searched; one of them may become two. Where all tiles run at once, lower ones
/// would only be more work.
void cut_tiles(std::vector<WindowLevel>& levels, int at_once);

}  // namespace cuface::cuda
