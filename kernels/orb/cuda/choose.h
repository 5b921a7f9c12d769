// Which corners become keypoints.
#pragma once

#include <cstddef>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/orb/cuda/levels.h"

namespace cuface::cuda::orb {

/// Candidates: of each level twice its share by FAST's score, with Harris' measure; or its share,
/// with the score. `most`: how many corners there can be.
Status measure(const LevelParts& levels, KeypointScore score, std::size_t most, const Work& work,
               Launcher launch);

/// The share of these, as bits; counts them.
Status choose(const LevelParts& levels, KeypointScore score, const Work& work, Launcher launch);

}  // namespace cuface::cuda::orb
