// What features can be at most. The order of a feature is cut into bins; what they add up to takes
// no order, so a warp adds up 32 features at once, each in a lane, sample after sample.
#pragma once

#include <cstdint>

#include "kernels/boost/cuda/scan.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"

namespace cuface::cuda::boost {

/// False for LogitBoost, and where a block of the current GPU has too little shared memory.
Result<bool> can_bound(Boosting boosting);

/// For each of `features` features no less than the quality of its best split, but for what kSlack
/// leaves to roundings. Raises *best to what one of them reaches at least, as a split of feature
/// ~0. Where can_bound(). node.responses has zeros up to rows.stride.
Status bound_features(const BinRows& rows, std::uint32_t features, const DeviceNode& node,
                      float* bounds, BestSplit* best, Launcher launch);

}  // namespace cuface::cuda::boost
