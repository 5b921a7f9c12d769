// Forests that are grown in no time.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "kernels/grow/grow.h"
#include "tests/kernels/versions.h"

namespace cuface::test {

inline ForestOptions small_options(int trees_of_level = 6) {
  ForestOptions options;
  options.cascade_depth = 2;
  options.num_trees_per_cascade_level = trees_of_level;
  options.tree_depth = 3;
  options.oversampling_amount = 7;
  options.feature_pool_size = 60;
  return options;
}

inline GrownForest forest_of(const LabelledFaces& faces, const ForestOptions& options,
                             const ForestRun& run = {}, GrownForest begun = {},
                             ForestCost* cost = nullptr) {
  auto forest = grow_forest(faces, options, run, std::move(begun), cost);
  EXPECT_TRUE(forest.ok()) << forest.status().message();
  return forest.ok() ? std::move(forest.value()) : GrownForest{};
}

inline GrownForest plain_forest_of(const LabelledFaces& faces, const ForestOptions& options,
                                   const ForestRun& run = {}) {
  return plainly([&] { return forest_of(faces, options, run); });
}

}  // namespace cuface::test
