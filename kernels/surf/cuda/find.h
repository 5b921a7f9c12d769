// Where determinants have a maximum.
#pragma once

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/surf/cuda/layers.h"

namespace cuface::cuda::surf {

/// A block's places along a side.
inline constexpr int kTile = 30;
/// Of the first octave a block copies the sums that it reads, where wavelets are no larger: rows of
/// kCopyPitch words.
inline constexpr int kMostCopiedSize = 33, kCopyPitch = kTile + 1 + kMostCopiedSize;

/// Lists the keypoints that can be given a direction, in any order. `layers` are those of all
/// octaves, in device memory, and then those of the first for copied sums.
Status find(const Octaves& octaves, const Layer* layers, ImageView<const std::uint32_t> sums,
            bool upright, const Tables& tables, const BlobWork& work, Launcher launch);

}  // namespace cuface::cuda::surf
