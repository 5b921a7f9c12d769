// One weak classifier: a tree of splits, grown level by level.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/boost/search.h"

namespace cuface::boost {

/// A tree, and the leaf of each sample, the inactive ones too.
struct GrownTree {
  WeakTree tree;
  std::vector<std::uint8_t> leaves;
};

/// What the samples weigh in a round; inactive ones 0.
struct RoundWeights {
  std::vector<std::int32_t> weights, responses;
};

/// The best tree for these weights. Without a node: no split is better than none. As
/// SplitSearch::best().
Status grow_tree(const FeatureBank& bank, const SampleValues& values, SplitSearch& search,
                 const RoundWeights& round, const BoostOptions& options, const StopFlag* stop,
                 GrownTree& grown);

/// The leaves that samples reach in a tree that is there. Its indices are right.
std::vector<std::uint8_t> leaves_of(const WeakTree& tree, const FeatureBank& bank,
                                    const SampleValues& values);

}  // namespace cuface::boost
