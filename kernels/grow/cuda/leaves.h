// What a tree, found or begun with, does to the samples on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/grow/cuda/samples.h"
#include "kernels/grow/spreads.h"

namespace cuface::cuda::grow {

/// The leaf of each sample in a tree, [padded].
Status walk(const DeviceSamples& samples, const ForestSplit* splits, int depth,
            std::uint16_t* leaf_of, Launcher launch);

/// Adds to `absent`, [leaves][size / 2], the weights of samples that lack a landmark.
Status add_absent(const DeviceSamples& samples, const std::uint16_t* leaf_of, std::uint64_t* absent,
                  Launcher launch);

/// Takes `steps`, [leaves][stride], from the rows, as after_leaf() does.
Status subtract_leaves(const DeviceSamples& samples, const std::uint16_t* leaf_of,
                       const std::int32_t* steps, Launcher launch);

/// Trees that shapes still lack, one behind the other.
struct LackedTrees {
  const float* leaves;           ///< [count][leaves of a tree][size]
  const std::uint16_t* leaf_of;  ///< [count][padded]
  std::size_t of_tree;           ///< floats
  int count;
};
Status add_to_shapes(const DeviceSamples& samples, const LackedTrees& trees, Launcher launch);

/// Adds to `sums`, [leaves][size / 2], what the rows lack.
Status add_spreads(const DeviceSamples& samples, const std::uint16_t* leaf_of, int leaves,
                   cuface::grow::SpreadSums* sums, Launcher launch);

}  // namespace cuface::cuda::grow
