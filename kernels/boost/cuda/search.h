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
/// sorts again those that do not fit. `bank` must outlive it; nodes are `boosting`'s. The values
/// need not be filled where the bank has no tilted features. Memory is that in *kept, where `kept`
/// is not null, and stays there; *kept must outlive the search, and be of the same bank.
/// kUnsupported with what CUDA says, kOutOfDeviceMemory. Ends before all is sorted: ready() waits.
Result<std::unique_ptr<cuface::boost::SplitSearch>> make_search(
    const FeatureBank& bank, const TrainingSamples& samples,
    const cuface::boost::SampleValues& values, Boosting boosting, std::size_t memory,
    std::unique_ptr<StageMemory>* kept);

}  // namespace cuface::cuda::boost
