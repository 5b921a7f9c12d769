// Growing a forest on a GPU against the plain version: the bytes of all tables, with any options,
// and where one processor goes on with what the other has begun.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/grow/grow.h"
#include "tests/gpu/gpu.h"
#include "tests/kernels/labelled_faces.h"
#include "tests/kernels/small_forest.h"

namespace cuface {
namespace {

using test::MadeUpFaces;

ForestOptions small_options() { return test::small_options(3); }

class GrowCuda : public testing::Test {
 protected:
  void SetUp() override { CUFACE_NEEDS_GPU(); }

  static GrownForest grown(const LabelledFaces& faces, const ForestOptions& options, ForestRun run,
                           TrainingBackend backend, GrownForest begun = {}) {
    run.backend = backend;
    ForestCost cost;
    GrownForest forest = test::forest_of(faces, options, run, std::move(begun), &cost);
    EXPECT_EQ(cost.on_gpu, backend == TrainingBackend::kCuda);
    EXPECT_GT(cost.bytes, backend == TrainingBackend::kCuda ? 1'000u : 0u);
    return forest;
  }

  void compare(const MadeUpFaces& faces, const ForestOptions& options) {
    ForestRun run;
    run.spreads_from = options.cascade_depth - 1;
    const GrownForest expected = test::plain_forest_of(faces.view(), options, run);
    const GrownForest got = grown(faces.view(), options, run, TrainingBackend::kCuda);
    ASSERT_EQ(test::bytes_of(got), test::bytes_of(expected))
        << faces.view().landmarks << " landmarks, " << faces.boxes.size() << " faces, depth "
        << options.tree_depth << ", " << options.num_test_splits << " tests";
    trees_ += static_cast<long>(got.trees(options));
    moved_ += std::any_of(got.leaves.begin(), got.leaves.end(), [](float v) { return v != 0; });
    ++forests_;
  }

  long trees_ = 0, forests_ = 0, moved_ = 0;
};

TEST_F(GrowCuda, TreesOfThePlainVersion) {
  for (const int landmarks : {8, 1, 5, 21, 68}) {
    const MadeUpFaces faces(test::under_tool() ? 15 : 37, 5, landmarks);
    for (const int depth : {1, 4, 6}) {
      for (const int tests : {1, 6, 7, 20, 33}) {
        if (test::under_tool() && (depth + tests + landmarks) % 4 != 0) continue;
        ForestOptions options = small_options();
        options.tree_depth = depth;
        options.num_test_splits = tests;
        compare(faces, options);
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_EQ(moved_, forests_);
  test::compared("trees", trees_, 450);
}

// Around whole warps, blocks and pieces of samples; trees deeper than samples are many.
TEST_F(GrowCuda, AnyNumberOfSamples) {
  for (const int faces : {2, 31, 33, 255, 257, 2049}) {
    if (test::under_tool() && faces > 300) break;
    ForestOptions options = small_options();
    options.oversampling_amount = 1;
    options.num_trees_per_cascade_level = 2;
    options.num_test_splits = 5;
    compare(MadeUpFaces(faces, 21), options);
    options.cascade_depth = 1;
    options.tree_depth = test::under_tool() ? 5 : 12;
    compare(MadeUpFaces(faces, 22), options);
    if (HasFailure()) return;
  }
  test::compared("trees", trees_, 36);
}

TEST_F(GrowCuda, AbsentPartsAndWeights) {
  MadeUpFaces faces(test::under_tool() ? 20 : 200, 6);
  const std::size_t count = faces.boxes.size();
  for (const bool hidden : {false, true}) {
    if (hidden) faces.hide_some();
    for (const bool weighted : {true, false}) {
      faces.weights.clear();
      for (std::size_t face = 0; face < count && weighted; ++face)
        faces.weights.push_back(static_cast<std::uint8_t>(face % 5 == 0 ? 255 : 1 + face % 3));
      compare(faces, small_options());
      if (HasFailure()) return;
    }
  }
  // All there, and all alike: what says so takes another way.
  faces.present.assign(faces.points.size(), 1);
  faces.weights.assign(count, 1);
  compare(faces, small_options());
  test::compared("trees", trees_, 30);
}

// Labels far away, starts moved far: sums beyond 32 bits, residuals at their limit, pixels outside.
TEST_F(GrowCuda, LargeResiduals) {
  MadeUpFaces faces(test::under_tool() ? 20 : 60, 7);
  for (std::size_t i = 0; i < 8; ++i) faces.points[40 + i].x += 97 * MadeUpFaces::kSide;
  faces.weights.assign(faces.boxes.size(), 255);
  ForestOptions options = small_options();
  options.oversampling_translation_jitter = 100;
  options.nu = 1;
  compare(faces, options);
  test::compared("trees", trees_, 6);
}

// So many trees that shapes get them in several turns.
TEST_F(GrowCuda, ManyTreesOfAStage) {
  ForestOptions options = small_options();
  options.num_trees_per_cascade_level = 70;
  options.tree_depth = 2;
  options.num_test_splits = 3;
  compare(MadeUpFaces(test::under_tool() ? 8 : 40, 23), options);
  test::compared("trees", trees_, 140);
}

TEST_F(GrowCuda, GoesOnWhereTheOtherProcessorStopped) {
  MadeUpFaces faces(test::under_tool() ? 10 : 30, 9);
  faces.hide_some();
  const ForestOptions options = small_options();
  std::vector<GrownForest> seen;
  ForestRun run;
  run.spreads_from = 0;
  run.watch = [&](const GrownForest& forest) { seen.push_back(forest); };
  const auto whole = test::bytes_of(grown(faces.view(), options, run, TrainingBackend::kCpu));
  ASSERT_EQ(seen.size(), 6u);
  run.watch = nullptr;
  long resumed = 0;
  for (const std::size_t at : {0u, 2u, 3u, 5u}) {
    for (const TrainingBackend first : {TrainingBackend::kCpu, TrainingBackend::kCuda}) {
      ForestRun part = run;
      part.most_trees = at + 1;
      GrownForest begun = grown(faces.view(), options, part, first);
      EXPECT_EQ(test::bytes_of(begun), test::bytes_of(seen[at]));
      begun.spreads.clear();
      const auto second =
          first == TrainingBackend::kCpu ? TrainingBackend::kCuda : TrainingBackend::kCpu;
      EXPECT_EQ(test::bytes_of(grown(faces.view(), options, run, second, std::move(begun))), whole);
      ++resumed;
    }
  }
  test::compared("forests gone on with", resumed, 8);
}

TEST_F(GrowCuda, CanBeStopped) {
  const MadeUpFaces faces(10, 14);
  StopFlag stop;
  ForestRun run;
  run.backend = TrainingBackend::kCuda;
  run.stop = &stop;
  std::size_t trees = 0;
  run.watch = [&](const GrownForest&) {
    if (++trees == 2) stop.raise();
  };
  const ForestOptions options = small_options();
  EXPECT_EQ(grow_forest(faces.view(), options, run).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(trees, 2u);
}

// Trees as a training of dlib's defaults has them, with all that the host does.
TEST_F(GrowCuda, Time) {
  if (test::under_tool()) GTEST_SKIP() << "times of a tool mean nothing";
  constexpr int kTrees = 40;
  for (const int count : {600, 6'700}) {
    const MadeUpFaces faces(count, 1, 68);
    ForestOptions options;
    options.cascade_depth = 1;
    options.num_trees_per_cascade_level = kTrees;
    ForestRun run;
    run.backend = TrainingBackend::kCuda;
    ForestCost cost;
    ASSERT_TRUE(grow_forest(faces.view(), options, run, {}, &cost).ok());
    const std::string size = std::to_string(count) + " faces x 20 of 68 points";
    test::report_time("grow, a tree", size, cost.search_seconds * 1e6 / kTrees);
    test::report_time("grow, set-up and pixels", size, cost.prepare_seconds * 1e6);
    std::printf("memory of the GPU: %.2f GB\n", static_cast<double>(cost.bytes) * 1e-9);
    run.spreads_from = 0;
    ForestCost with_spreads;
    ASSERT_TRUE(grow_forest(faces.view(), options, run, {}, &with_spreads).ok());
    test::report_time("grow, a tree with its spreads", size,
                      with_spreads.search_seconds * 1e6 / kTrees);
  }
}

}  // namespace
}  // namespace cuface
