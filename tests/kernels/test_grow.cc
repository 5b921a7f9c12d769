// Training a forest: every version gives the bytes of the plain one, with any number of threads and
// after any interruption. What it computes is held by test_grow_dlib.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/grow/grow.h"
#include "kernels/landmarks/regression.h"
#include "tests/kernels/labelled_faces.h"
#include "tests/kernels/small_forest.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

using test::bytes_of;
using test::forest_of;
using test::plain_forest_of;
using test::small_options;

double error_of(const GrownForest& grown, const ForestOptions& options,
                const LabelledFaces& faces) {
  auto model = make_forest(grown, options);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? test::mean_error(model.value(), faces) : NAN;
}

class GrowVersions : public test::EveryVersion {};
CUFACE_EVERY_VECTOR_VERSION(GrowVersions);

TEST_P(GrowVersions, GrowTheSameTrees) {
  for (const int landmarks : {8, 1, 5, 21}) {
    const test::MadeUpFaces faces(37, 5, landmarks);
    for (const int depth : {1, 4, 6}) {
      for (const int tests : {1, 5, 20, 33}) {
        ForestOptions options = small_options();
        options.tree_depth = depth;
        options.num_test_splits = tests;
        options.num_trees_per_cascade_level = 3;
        EXPECT_EQ(bytes_of(forest_of(faces.view(), options)),
                  bytes_of(plain_forest_of(faces.view(), options)))
            << landmarks << " landmarks, depth " << depth << ", " << tests << " tests";
      }
    }
  }
}

TEST_P(GrowVersions, KnowPartsThatAreNotPresentAndWeights) {
  test::MadeUpFaces faces(50, 6);
  faces.hide_some();
  for (std::size_t face = 0; face < 50; ++face)
    faces.weights.push_back(static_cast<std::uint8_t>(face % 5 == 0 ? 255 : 1 + face % 3));
  const ForestOptions options = small_options();
  ForestRun run;
  run.spreads_from = 1;
  const GrownForest forest = forest_of(faces.view(), options, run);
  EXPECT_EQ(bytes_of(forest), bytes_of(plain_forest_of(faces.view(), options, run)));
  EXPECT_EQ(forest.spreads.size(), 6 * 8 * faces.points.size() / 50);
}

// A label far away makes residuals that 32 bits can hardly add up.
TEST_P(GrowVersions, AddLargeResiduals) {
  test::MadeUpFaces faces(60, 7);
  for (std::size_t i = 0; i < 8; ++i) faces.points[40 + i].x += 97 * test::MadeUpFaces::kSide;
  faces.weights.assign(60, 255);
  ForestOptions options = small_options();
  options.oversampling_translation_jitter = 100;
  options.nu = 1;
  ForestRun run;
  run.spreads_from = 0;
  const GrownForest forest = forest_of(faces.view(), options, run);
  EXPECT_EQ(bytes_of(forest), bytes_of(plain_forest_of(faces.view(), options, run)));
  EXPECT_LE(*std::max_element(forest.spreads.begin(), forest.spreads.end()), 46341);
}

// Many rows of a moderate size: 32 bits hold some of them, and not all.
TEST_P(GrowVersions, AddMoreThanThirtyTwoBitsHold) {
  test::MadeUpFaces faces(250, 19);
  faces.weights.assign(250, 16);
  ForestOptions options = small_options();
  options.oversampling_amount = 80;
  options.oversampling_translation_jitter = 3;
  options.cascade_depth = 1;
  options.num_trees_per_cascade_level = 3;
  options.tree_depth = 2;
  options.feature_pool_size = 20;
  ForestRun run;
  run.threads = 1;
  EXPECT_EQ(bytes_of(forest_of(faces.view(), options, run)),
            bytes_of(plain_forest_of(faces.view(), options)));
}

TEST(Grow, ThreadsChangeNothing) {
  const test::MadeUpFaces faces(300, 8);
  const ForestOptions options = small_options();
  ForestRun run;
  run.threads = 1;
  const std::string expected = bytes_of(forest_of(faces.view(), options, run));
  for (const int threads : {2, 3, 7}) {
    run.threads = threads;
    EXPECT_EQ(bytes_of(forest_of(faces.view(), options, run)), expected) << threads << " threads";
  }
}

TEST(Grow, GoesOnWhereItWasInterrupted) {
  const test::MadeUpFaces faces(30, 9);
  for (const ForestDraws draws : {ForestDraws::kOwn, ForestDraws::kDlib}) {
    ForestOptions options = small_options();
    options.draws = draws;
    std::vector<GrownForest> seen;
    ForestRun run;
    run.spreads_from = 1;
    run.watch = [&](const GrownForest& forest) { seen.push_back(forest); };
    const std::string expected = bytes_of(forest_of(faces.view(), options, run));
    ASSERT_EQ(seen.size(), 12u);
    EXPECT_EQ(bytes_of(seen.back()), expected);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      EXPECT_EQ(seen[i].trees(options), i + 1);
      std::size_t watched = 0;
      run.watch = [&](const GrownForest&) { ++watched; };
      EXPECT_EQ(bytes_of(forest_of(faces.view(), options, run, seen[i])), expected) << i;
      EXPECT_EQ(watched, 11 - i);
      // The same without what a checkpoint has not, up to where it stood.
      GrownForest begun = seen[i];
      begun.spreads.clear();
      run.most_trees = i + 1;
      EXPECT_EQ(bytes_of(forest_of(faces.view(), options, run, begun)), bytes_of(seen[i])) << i;
      run.most_trees = 0;
    }
  }
}

TEST(Grow, FindsWhatItHasLearnt) {
  const test::MadeUpFaces faces(200, 10), others(100, 11);
  ForestOptions options;
  options.num_trees_per_cascade_level = 30;
  options.cascade_depth = 6;
  options.oversampling_amount = 10;
  GrownForest first;
  ForestRun run;
  run.watch = [&](const GrownForest& forest) {
    if (forest.trees(options) == 30) first = forest;
  };
  const GrownForest forest = forest_of(faces.view(), options, run);
  GrownForest none = first;
  std::fill(none.leaves.begin(), none.leaves.end(), 0.0f);
  const double mean = error_of(none, options, others.view());
  EXPECT_LT(error_of(first, options, others.view()), 0.8 * mean);
  EXPECT_LT(error_of(forest, options, others.view()), 0.45 * mean);
  EXPECT_LT(error_of(forest, options, faces.view()), error_of(forest, options, others.view()));
}

// A weight of n is n faces alike.
class GrowDraws : public testing::TestWithParam<ForestDraws> {};
INSTANTIATE_TEST_SUITE_P(Each, GrowDraws, testing::Values(ForestDraws::kOwn, ForestDraws::kDlib));

TEST_P(GrowDraws, AWeightCountsAsSoManyFaces) {
  test::MadeUpFaces faces(30, 12);
  faces.weights.assign(30, 1);
  ForestOptions options = small_options();
  options.draws = GetParam();
  EXPECT_EQ(bytes_of(forest_of(faces.view(), options)), [&] {
    faces.weights.clear();
    return bytes_of(forest_of(faces.view(), options));
  }());
  faces.weights.assign(30, 1);
  const auto error_of_first = [&] {
    const GrownForest forest = forest_of(faces.view(), options);
    LabelledFaces view = faces.view();
    view.picture_of = view.picture_of.first(5);
    view.boxes = view.boxes.first(5);
    view.points = view.points.first(40);
    return error_of(forest, options, view);
  };
  const double before = error_of_first();
  std::fill_n(faces.weights.begin(), 5, std::uint8_t{100});
  EXPECT_LT(error_of_first(), 0.8 * before);
}

// One start for each face, the mean shape: what a sample lacks is plain from its label.
TEST_P(GrowDraws, SpreadsAreHowFarSamplesLieApart) {
  test::MadeUpFaces faces(200, 20);
  faces.hide_some();
  faces.weights.assign(200, 1);
  for (std::size_t face = 0; face < 200; face += 3) faces.weights[face] = 5;
  ForestOptions options;
  options.cascade_depth = options.num_trees_per_cascade_level = options.oversampling_amount = 1;
  options.tree_depth = 3;
  options.draws = GetParam();
  ForestRun run;
  run.spreads_from = 0;
  const GrownForest forest = forest_of(faces.view(), options, run);
  const auto model = make_forest(forest, options);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const ForestModel& m = *model.value();
  ASSERT_EQ(m.leaf_spreads.size(), 8u * 8);
  const auto mean = mean_points(m);
  const auto levers = forest::levers_of(mean);
  struct Sum {
    double weight = 0, x = 0, y = 0, squares = 0;
    double spread() const {
      return std::sqrt(squares / weight - x / weight * (x / weight) - y / weight * (y / weight));
    }
  };
  std::vector<Sum> sums(64), all(8);
  for (std::size_t face = 0; face < 200; ++face) {
    const Box& box = faces.boxes[face];
    std::vector<std::uint8_t> pool(static_cast<std::size_t>(m.pool));
    forest::read_pool(forest::PixelReader(faces.pictures[faces.picture_of[face]], box), levers,
                      std::span<const Point>(mean), m.anchors, m.deltas.data(), pool.data());
    const std::size_t leaf = forest::walk_tree(m.splits, m.depth, pool.data());
    for (std::size_t i = 0; i < 8; ++i) {
      if (!faces.present[face * 8 + i]) continue;
      const Point p = faces.points[face * 8 + i];
      const double x = static_cast<double>((p.x - box.x) / (box.w - 1) - mean[i].x);
      const double y = static_cast<double>((p.y - box.y) / (box.h - 1) - mean[i].y);
      const double w = faces.weights[face];
      for (Sum* sum : {&sums[leaf * 8 + i], &all[i]}) {
        sum->weight += w;
        sum->x += w * x;
        sum->y += w * y;
        sum->squares += w * (x * x + y * y);
      }
    }
  }
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    const double expected = (sums[i].weight > 0 ? sums[i] : all[i % 8]).spread() * 0x1p16;
    apart = std::max(apart, std::fabs(expected - m.leaf_spreads[i]));
    largest = std::max(largest, expected);
  }
  EXPECT_LT(apart, 3);
  EXPECT_GT(largest, 1000);
}

TEST(Grow, AModelHasTheSpreadsOfItsLastStage) {
  const test::MadeUpFaces faces(30, 15);
  const ForestOptions options = small_options();
  ForestRun run;
  run.spreads_from = 0;
  const GrownForest all = forest_of(faces.view(), options, run);
  run.spreads_from = 1;
  const GrownForest last = forest_of(faces.view(), options, run);
  const auto a = make_forest(all, options), b = make_forest(last, options);
  const auto none = make_forest(forest_of(faces.view(), options), options);
  ASSERT_TRUE(a.ok() && b.ok() && none.ok());
  EXPECT_TRUE(none.value()->leaf_spreads.empty());
  const auto spreads = a.value()->leaf_spreads;
  EXPECT_EQ(spreads.size(), 6u * 8 * 8);
  EXPECT_TRUE(std::equal(spreads.begin(), spreads.end(), b.value()->leaf_spreads.begin(),
                         b.value()->leaf_spreads.end()));
  EXPECT_TRUE(std::equal(spreads.begin(), spreads.end(), all.spreads.end() - 6 * 8 * 8));
  // Of a forest of which only a part of the last stage is known: none.
  GrownForest part = last;
  part.spreads.resize(8 * 8);
  EXPECT_TRUE(make_forest(part, options).value()->leaf_spreads.empty());
}

TEST(Grow, SeedsAndDrawsMakeOtherForests) {
  const test::MadeUpFaces faces(30, 13);
  std::vector<std::string> all;
  for (const ForestDraws draws : {ForestDraws::kOwn, ForestDraws::kDlib}) {
    for (const char* seed : {"", "a", "b"}) {
      ForestOptions options = small_options();
      options.draws = draws;
      options.random_seed = seed;
      all.push_back(bytes_of(forest_of(faces.view(), options)));
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE(all[i], all[k]) << i << " and " << k;
}

TEST_P(GrowDraws, CanBeStopped) {
  const test::MadeUpFaces faces(30, 14);
  StopFlag stop;
  ForestRun run;
  run.stop = &stop;
  std::size_t trees = 0;
  run.watch = [&](const GrownForest&) {
    if (++trees == 2) stop.raise();
  };
  ForestOptions options = small_options();
  options.draws = GetParam();
  EXPECT_EQ(grow_forest(faces.view(), options, run).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(trees, 2u);
  trees = 0;
  EXPECT_EQ(grow_forest(faces.view(), options, run).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(trees, 0u);
}

TEST(Grow, MakesAModelOfWholeStages) {
  const test::MadeUpFaces faces(30, 15);
  const ForestOptions options = small_options();
  std::vector<GrownForest> seen;
  ForestRun run;
  run.watch = [&](const GrownForest& forest) { seen.push_back(forest); };
  forest_of(faces.view(), options, run);
  EXPECT_EQ(make_forest(seen[4], options).status().code(), StatusCode::kCorrupt);
  const auto one = make_forest(seen[5], options), still = make_forest(seen[10], options);
  const auto two = make_forest(seen[11], options);
  ASSERT_TRUE(one.ok() && still.ok() && two.ok());
  EXPECT_EQ(one.value()->stages, 1);
  EXPECT_EQ(still.value()->stages, 1);
  EXPECT_EQ(two.value()->stages, 2);
  EXPECT_EQ(two.value()->trees, 6);
  EXPECT_EQ(two.value()->depth, 3);
  EXPECT_EQ(two.value()->pool, 60);
  EXPECT_EQ(two.value()->landmarks, 8);
}

}  // namespace
}  // namespace cuface
