// Keypoints' directions and descriptors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/features/device_features.h"
#include "kernels/orb/cuda/levels.h"
#include "kernels/orb/pattern.h"

namespace cuface::cuda::orb {

/// `out` := the chosen candidates as keypoints, in the order of the CPU's: up to kMostKeypoints.
/// `pattern`: cuface::orb::kPattern in device memory. `most`: how many candidates are expected;
/// more take longer.
Status describe(const LevelParts& levels, const Work& work, const cuface::orb::Pair* pattern,
                bool upright, std::size_t most, DeviceFeatures* out, std::uint64_t* counted,
                Launcher launch);

/// `out` := those of `count` given keypoints that can be described, in their order.
Status describe_given(const LevelParts& levels, const Keypoint* given, int count,
                      const cuface::orb::Pair* pattern, DeviceFeatures* out, Launcher launch);

}  // namespace cuface::cuda::orb
