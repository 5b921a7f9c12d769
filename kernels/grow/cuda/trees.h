// The samples of a training on a GPU: the trees of the plain version, bit for bit.
//
// samples.h: what is in device memory, and what a stage begins with. split_sums.h: the splits of a
// tree. leaves.h: what a tree does to the samples.
#pragma once

#include <memory>

#include "kernels/common/status.h"
#include "kernels/grow/trees.h"

namespace cuface::cuda::grow {

/// On the current GPU; `faces` need not outlive it. kUnsupported with what CUDA says,
/// kOutOfDeviceMemory.
Result<std::unique_ptr<cuface::grow::SampleTrees>> make_trees(const LabelledFaces& faces,
                                                              const ForestOptions& options,
                                                              const cuface::grow::Starts& starts,
                                                              const StopFlag* stop);

}  // namespace cuface::cuda::grow
