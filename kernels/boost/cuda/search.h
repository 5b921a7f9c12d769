// The search for the best split on a GPU: the features and qualities of the CPU's.
//
// order.h: a stage's set-up, values and their orders; scan.h: a round.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/boost/search.h"
#include "kernels/common/status.h"

namespace cuface::cuda::boost {

/// Keeps sorted orders in so many bytes of the current GPU's memory, 0 = most of what is free, and
/// sorts again those that do not fit. `bank` and `values` must outlive it; nodes are `boosting`'s.
/// kUnsupported with what CUDA says, kOutOfDeviceMemory, kCancelled once `stop` is raised.
Result<std::unique_ptr<cuface::boost::SplitSearch>> make_search(
    const FeatureBank& bank, const cuface::boost::SampleValues& values, Boosting boosting,
    std::size_t memory, const StopFlag* stop);

}  // namespace cuface::cuda::boost
