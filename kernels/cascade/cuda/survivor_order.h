// Which trees of a stage the lanes of a warp take together, and in which order they read corners.
#pragma once

#include <vector>

#include "kernels/cascade/cuda/tables.h"

namespace cuface::cuda {

/// Puts the nodes of a stage, those with two rectangles first, into an order in which the 32 that a
/// warp reads at once lie in few places of the same bank of the shared memory: trees of a stage may
/// come in any order, and so may corners that are added to the same side. Both keep what is added
/// up. Third rectangles stay behind.
void order_late_nodes(LateNode* nodes, int count);

}  // namespace cuface::cuda
