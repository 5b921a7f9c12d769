// Training beside dlib's shape_predictor_trainer, compiled here without fused multiply-add. With
// ForestDraws::kDlib a model is dlib's. With sums of integers, but dlib's draws, and fed dlib's
// trees before it, each tree is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <sstream>
#include <vector>

#include "kernels/grow/grow.h"
#include "kernels/grow/trees.h"
#include "models/dlib_dat_writer.h"
#include "tests/kernels/dlib_trainer.h"
#include "tests/kernels/labelled_faces.h"
#include "tests/kernels/small_forest.h"
#include "tests/kernels/versions.h"
#include "tests/models/dlib_forest.h"

namespace cuface {
namespace {

void expect_dlibs(const test::TreeDifference& found, std::size_t least_splits) {
  EXPECT_EQ(found.tables, 0u);
  EXPECT_GE(found.splits, least_splits);
  // dlib adds floats: where two splits part the samples alike, noise decides.
  EXPECT_LE(found.other_splits * 50, found.splits);
  EXPECT_LE(found.gap, 1e-5);
  EXPECT_EQ(found.not_lower, found.other_splits);
  EXPECT_GE(found.leaves, least_splits / 2);
  EXPECT_LE(found.leaf, 1e-5);
}

// With several threads, too, and with more than there are splits to try.
void expect_dlibs_model(const LabelledFaces& faces, const ForestOptions& options) {
  const auto dlibs = test::dlib_trained(faces, options);
  ASSERT_TRUE(dlibs);
  for (const int threads : {1, 2, 30}) {
    ForestRun run;
    run.threads = threads;
    const GrownForest ours = test::forest_of(faces, options, run);
    EXPECT_TRUE(std::ranges::equal(ours.mean_shape, dlibs->mean_shape));
    EXPECT_TRUE(std::ranges::equal(ours.anchors, dlibs->anchors));
    EXPECT_TRUE(std::ranges::equal(ours.deltas, dlibs->deltas));
    EXPECT_TRUE(std::ranges::equal(ours.splits, dlibs->splits, grow::is_same)) << threads;
    EXPECT_TRUE(std::ranges::equal(ours.leaves, dlibs->leaves)) << threads;
  }
}

ForestOptions dlib_options(int stages, int trees) {
  ForestOptions options;
  options.draws = ForestDraws::kDlib;
  options.cascade_depth = stages;
  options.num_trees_per_cascade_level = trees;
  return options;
}

class GrowDlib : public test::EveryVersion {};
CUFACE_EVERY_VERSION(GrowDlib);

TEST_P(GrowDlib, FedDlibsTreesEachTreeIsDlibs) {
  const test::MadeUpFaces faces(60, 1);
  expect_dlibs(test::compare_with_dlib(faces.view(), dlib_options(2, 40)), 1100);
}

TEST(GrowBesideDlib, EveryOptionIsDlibs) {
  test::MadeUpFaces faces(40, 2);
  // Two landmarks in one place: pixels hang on the first.
  for (std::size_t i = 0; i < faces.points.size(); i += 8) faces.points[i + 5] = faces.points[i];
  ForestOptions options = dlib_options(3, 12);
  options.tree_depth = 3;
  options.nu = 0.25;
  options.oversampling_amount = 30;
  options.oversampling_translation_jitter = 0.1;
  options.feature_pool_size = 150;
  options.lambda = 0.3;
  options.num_test_splits = 7;
  options.feature_pool_region_padding = 0.05;
  options.padding_mode = PaddingMode::kBoundingBoxRelative;
  options.random_seed = "seed \xe9";
  expect_dlibs(test::compare_with_dlib(faces.view(), options), 240);
  expect_dlibs_model(faces.view(), options);
}

TEST(GrowBesideDlib, PartsThatAreNotPresentAreDlibs) {
  test::MadeUpFaces faces(40, 3);
  faces.hide_some();
  expect_dlibs(test::compare_with_dlib(faces.view(), dlib_options(2, 30)), 800);
  expect_dlibs_model(faces.view(), dlib_options(4, 30));
}

// Of few samples many splits have equal scores, and sides that are empty.
TEST(GrowBesideDlib, AWholeModelIsDlibs) {
  expect_dlibs_model(test::MadeUpFaces(50, 8).view(), dlib_options(10, 30));
  expect_dlibs_model(test::MadeUpFaces(3, 9, 21).view(), dlib_options(10, 30));
}

struct Errors {
  std::vector<double> of_seeds;

  double mean() const { return std::accumulate(of_seeds.begin(), of_seeds.end(), 0.0) / count(); }
  double standard_error() const {
    double squares = 0;
    for (const double error : of_seeds) squares += (error - mean()) * (error - mean());
    return std::sqrt(squares / (count() - 1) / count());
  }

 private:
  double count() const { return static_cast<double>(of_seeds.size()); }
};

// The long version of it is tests/full/grow_dlib.cc.
TEST(GrowBesideDlib, OwnDrawsLearnWhatDlibLearns) {
  const test::MadeUpFaces faces(100, 6), others(300, 7);
  ForestOptions options;
  options.cascade_depth = 5;
  options.num_trees_per_cascade_level = 20;
  options.oversampling_amount = 10;
  Errors ours, dlibs;
  for (const char* seed : {"1", "2", "3", "4", "5"}) {
    options.random_seed = seed;
    const auto grown = grow_forest(faces.view(), options);
    ASSERT_TRUE(grown.ok()) << grown.status().message();
    ours.of_seeds.push_back(
        test::mean_error(make_forest(grown.value(), options).value(), others.view()));
    dlibs.of_seeds.push_back(
        test::mean_error(test::dlib_trained(faces.view(), options), others.view()));
  }
  std::printf("errors %.5f +- %.5f, dlib's %.5f +- %.5f\n", ours.mean(), ours.standard_error(),
              dlibs.mean(), dlibs.standard_error());
  EXPECT_LE(std::fabs(ours.mean() - dlibs.mean()),
            2 * std::hypot(ours.standard_error(), dlibs.standard_error()));
}

TEST(GrowBesideDlib, LoadsTheFileAndFindsOurPoints) {
  const test::MadeUpFaces faces(60, 4), others(40, 5);
  ForestOptions options;
  options.cascade_depth = 4;
  options.num_trees_per_cascade_level = 20;
  options.oversampling_amount = 5;
  const auto grown = grow_forest(faces.view(), options);
  ASSERT_TRUE(grown.ok()) << grown.status().message();
  const auto model = make_forest(grown.value(), options);
  ASSERT_TRUE(model.ok()) << model.status().message();
  std::istringstream file(dlib_dat_bytes(*model.value()));
  const test::DlibForest dlibs(file);
  const auto landmarker = Landmarker::create(Backend::kCpu, model.value());
  ASSERT_TRUE(landmarker.ok());
  std::vector<Point> found(test::MadeUpFaces::kDrawn);
  int compared = 0;
  for (std::size_t face = 0; face < others.boxes.size(); ++face) {
    const auto& picture = others.pictures[others.picture_of[face]];
    ASSERT_TRUE(landmarker.value()->enqueue(picture, {&others.boxes[face], 1}, found).ok());
    const auto points = dlibs(test::to_dlib(picture), test::to_dlib(others.boxes[face]));
    ASSERT_EQ(points.size(), found.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_NEAR(found[i].x, points[i].x(), 1e-4);
      EXPECT_NEAR(found[i].y, points[i].y(), 1e-4);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 320);
}

}  // namespace
}  // namespace cuface
