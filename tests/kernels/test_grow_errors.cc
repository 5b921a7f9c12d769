// Training a forest: what is refused, and what is said of it.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "kernels/grow/grow.h"
#include "tests/kernels/labelled_faces.h"
#include "tests/kernels/small_forest.h"

namespace cuface {
namespace {

using test::bytes_of;
using test::forest_of;
using test::small_options;

TEST(Grow, RefusesAForestOfOtherSamples) {
  const test::MadeUpFaces faces(30, 16);
  const ForestOptions options = small_options();
  const GrownForest good = forest_of(faces.view(), options);
  const auto refuses = [&](auto&& spoil) {
    GrownForest bad = good;
    spoil(bad);
    const auto forest = grow_forest(faces.view(), options, {}, bad);
    return forest.status().code() == StatusCode::kInvalidArgument;
  };
  EXPECT_FALSE(refuses([](GrownForest&) {}));
  EXPECT_TRUE(refuses([](GrownForest& f) { f.mean_shape[3] += 1e-6f; }));
  EXPECT_TRUE(refuses([](GrownForest& f) { f.mean_shape.clear(); }));
  EXPECT_TRUE(refuses([](GrownForest& f) { f.anchors[3] ^= 1; }));
  EXPECT_TRUE(refuses([](GrownForest& f) { f.deltas.pop_back(); }));
  EXPECT_TRUE(refuses([](GrownForest& f) { f.splits.pop_back(); }));
  EXPECT_TRUE(refuses([](GrownForest& f) { f.leaves.pop_back(); }));
  EXPECT_TRUE(refuses([](GrownForest& f) { f.leaves[3] = NAN; }));
  EXPECT_TRUE(refuses([](GrownForest& f) { f.splits[3].a = 60; }));
  EXPECT_TRUE(refuses([](GrownForest& f) { f.splits[3].b = 60; }));
  EXPECT_TRUE(refuses([](GrownForest& f) { f.splits[3].threshold = INFINITY; }));
  EXPECT_TRUE(refuses([](GrownForest& f) {
    f.splits.insert(f.splits.end(), f.splits.begin(), f.splits.begin() + 7);
    f.leaves.insert(f.leaves.end(), f.leaves.begin(), f.leaves.begin() + 8 * 16);
  }));
}

TEST(Grow, SaysWhatIsWrongWithFaces) {
  const ForestOptions options = small_options();
  const auto says = [&](const char* part, auto&& spoil) {
    test::MadeUpFaces faces(20, 17);
    spoil(faces);
    const auto forest = grow_forest(faces.view(), options);
    EXPECT_EQ(forest.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(forest.status().message().find(part), std::string::npos)
        << part << ": " << forest.status().message();
  };
  using Faces = test::MadeUpFaces;
  says("no face", [](Faces& f) { f = Faces(0, 1); });
  says("as many", [](Faces& f) { f.points.pop_back(); });
  says("as many", [](Faces& f) { f.picture_of.pop_back(); });
  says("as many", [](Faces& f) { f.present.assign(159, 1); });
  says("as many", [](Faces& f) { f.weights.assign(21, 1); });
  says("face 3 is of a picture that does not exist", [](Faces& f) { f.picture_of[3] = 10; });
  says("face 4 is of an empty picture", [](Faces& f) { f.pictures[2].width = 0; });
  says("box of face 5", [](Faces& f) { f.boxes[5].w = 1; });
  says("box of face 5", [](Faces& f) { f.boxes[5].h = 0; });
  says("box of face 6", [](Faces& f) { f.boxes[6].x = NAN; });
  says("point 1 of face 2", [](Faces& f) { f.points[17].x = NAN; });
  says("point 2 of face 2", [](Faces& f) { f.points[18].y = 7000; });
  says("face 7 has no weight", [](Faces& f) {
    f.weights.assign(20, 1);
    f.weights[7] = 0;
  });
  says("point 3 is present in no face", [](Faces& f) {
    f.present.assign(160, 1);
    for (std::size_t i = 3; i < 160; i += 8) f.present[i] = 0;
  });
  LabelledFaces none = Faces(20, 17).view();
  none.landmarks = 0;
  EXPECT_NE(grow_forest(none, options).status().message().find("landmarks"), std::string::npos);
}

TEST(Grow, SaysWhichOptionIsOutOfRange) {
  const auto says = [](const char* name, auto&& spoil) {
    ForestOptions options;
    spoil(options);
    const Status status = validate(options);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name;
    EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
  };
  EXPECT_TRUE(validate(ForestOptions{}).ok());
  for (const int bad : {0, -1, std::numeric_limits<int>::max()}) {
    says("cascade_depth", [&](ForestOptions& o) { o.cascade_depth = bad; });
    says("tree_depth", [&](ForestOptions& o) { o.tree_depth = bad; });
    says("num_trees_per_cascade_level",
         [&](ForestOptions& o) { o.num_trees_per_cascade_level = bad; });
    says("oversampling_amount", [&](ForestOptions& o) { o.oversampling_amount = bad; });
    says("feature_pool_size", [&](ForestOptions& o) { o.feature_pool_size = bad; });
    says("num_test_splits", [&](ForestOptions& o) { o.num_test_splits = bad; });
  }
  for (const double bad : {0.0, 1.5, -1.0, double{NAN}})
    says("nu", [&](ForestOptions& o) { o.nu = bad; });
  for (const double bad : {0.0, -1.0, double{NAN}, double{INFINITY}})
    says("lambda", [&](ForestOptions& o) { o.lambda = bad; });
  for (const double bad : {-1.0, 101.0, double{NAN}}) {
    says("jitter", [&](ForestOptions& o) { o.oversampling_translation_jitter = bad; });
    says("padding", [&](ForestOptions& o) { o.feature_pool_region_padding = bad; });
  }
  says("leaves", [](ForestOptions& o) { o.num_trees_per_cascade_level = 100000; });
  says("feature pixels", [](ForestOptions& o) {
    o.cascade_depth = 100;
    o.num_trees_per_cascade_level = 1;
    o.feature_pool_size = 20000;
  });
}

// Never other bytes without a word.
TEST(Grow, RefusesDlibsSumsOnAGpu) {
  const test::MadeUpFaces faces(20, 18);
  ForestOptions options = small_options();
  options.draws = ForestDraws::kDlib;
  ForestRun run;
  run.backend = TrainingBackend::kCuda;
  const Status status = grow_forest(faces.view(), options, run).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.message().find("random=dlib"), std::string::npos) << status.message();
  EXPECT_TRUE(validate(options, TrainingBackend::kAuto).ok());
  const std::string expected = bytes_of(forest_of(faces.view(), options));
  run.backend = TrainingBackend::kAuto;
  ForestCost cost;
  EXPECT_EQ(bytes_of(forest_of(faces.view(), options, run, {}, &cost)), expected);
  EXPECT_FALSE(cost.on_gpu);
}

TEST(Grow, RefusesMoreSamplesThanItCanAddUp) {
  const test::MadeUpFaces faces(20, 18);
  ForestOptions options = small_options();
  options.oversampling_amount = 1 << 20;
  const Status status = grow_forest(faces.view(), options).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("too many"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace cuface
