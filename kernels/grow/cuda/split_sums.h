// The best splits of a tree, level by level, on a GPU. A level takes three launches: each sample
// goes to its node and tries the node's splits, the residuals of each split's left side are added
// up, and each node takes its best split.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"
#include "kernels/grow/cuda/samples.h"

namespace cuface::cuda::grow {

/// Splits whose sums a thread has in its registers. Their bits of a sample are one byte.
inline constexpr int kTestsTogether = 7;

/// A tree that grows; all in device memory.
struct TreeSearch {
  int depth = 0;
  int tests = 0;                     ///< splits that a node tries
  const ForestSplit* all = nullptr;  ///< [2^depth - 1][tests]
  std::uint16_t* node_of = nullptr;  ///< [padded], of its level
  /// [groups()][padded]: for each sample which of kTestsTogether splits of its node send it left.
  /// Behind the last split there is one that sends all left.
  std::uint8_t* lefts = nullptr;
  std::int64_t* sums = nullptr;       ///< [nodes of a level][tests + 1][stride], of left sides
  std::int64_t* leaf_sums = nullptr;  ///< [2^depth][stride]
  ForestSplit* splits = nullptr;      ///< [2^depth - 1]

  CUFACE_HD int groups() const { return (tests + kTestsTogether) / kTestsTogether; }
  CUFACE_HD std::size_t sums_of(int node, int test, int stride) const {
    return (static_cast<std::size_t>(node) * static_cast<std::size_t>(tests + 1) +
            static_cast<std::size_t>(test)) *
           static_cast<std::size_t>(stride);
  }
};

/// The splits of a level, once those of the levels above are there; of the last level the sums of
/// the leaves too.
Status search_level(const DeviceSamples& samples, const TreeSearch& search, int level,
                    Launcher launch);

/// Writes leaves, [2^depth][size], from leaf_sums. `absent` is [2^depth][size / 2]: the weights of
/// samples that lack a landmark; null: none does.
Status make_leaves(const DeviceSamples& samples, const TreeSearch& search,
                   const std::uint64_t* absent, double nu, float* leaves, Launcher launch);

}  // namespace cuface::cuda::grow
