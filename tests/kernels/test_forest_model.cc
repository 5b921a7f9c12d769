// The model of a forest: what validate() finds, compact leaves, and the box of its mean shape.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "models/forest_file.h"
#include "tests/kernels/forests.h"
#include "tests/models/synthetic_forest.h"

namespace cuface {
namespace {

using test::ForestCopy;

TEST(ForestValidate, FindsEveryKindOfDamage) {
  const auto good = test::synthetic_forest(5, 2, 3, 2, 4, 23);
  ASSERT_TRUE(validate(*good).ok());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<void (*)(ForestCopy&, float)> damages = {
      [](ForestCopy& m, float bad) { m.shape[3] = bad; },
      [](ForestCopy& m, float bad) { m.offsets.back() = bad; },
      [](ForestCopy& m, float bad) { m.values.back() = bad; },
      [](ForestCopy& m, float bad) { m.nodes.back().threshold = bad; },
      [](ForestCopy& m, float) { m.nodes.back().a = 4; },
      [](ForestCopy& m, float) { m.nodes[0].b = 0xffffffffu; },
      [](ForestCopy& m, float) { m.landmarks_of.back() = 5; },
      [](ForestCopy& m, float) { m.landmarks = 0; },
      [](ForestCopy& m, float) { m.landmarks = 6; },
      [](ForestCopy& m, float) { m.depth = 31; },
      [](ForestCopy& m, float) { m.depth = -1; },
      [](ForestCopy& m, float) { m.trees = 4; },
      [](ForestCopy& m, float) { m.stages = 0; },
      [](ForestCopy& m, float) { m.pool = 3; },
      [](ForestCopy& m, float) { m.leaves = m.leaves.first(m.leaves.size() - 1); },
      [](ForestCopy& m, float bad) {
        m.box_maps = {{"x", {bad, 0, 0}}};
      },
      [](ForestCopy& m, float) {
        m.box_maps = {{"x", {0, 0, 0}}};
      },
  };
  for (std::size_t i = 0; i < damages.size(); ++i) {
    for (const float bad : {nan, std::numeric_limits<float>::infinity()}) {
      ForestCopy damaged(*good);
      ASSERT_TRUE(validate(damaged).ok());
      damages[i](damaged, bad);
      const Status status = validate(damaged);
      EXPECT_EQ(status.code(), StatusCode::kCorrupt) << "damage " << i;
      EXPECT_FALSE(status.message().empty());
    }
  }
}

TEST(ForestValidate, FindsDamageOfACompactModel) {
  const auto good = compact_forest(*test::synthetic_forest(5, 2, 3, 2, 4, 23));
  ASSERT_TRUE(validate(*good).ok());
  ASSERT_TRUE(good->is_compact());
  struct CompactCopy : ForestModel {
    explicit CompactCopy(const ForestModel& m)
        : ForestModel(m),
          values(m.compact_leaves.begin(), m.compact_leaves.end()),
          scales(m.leaf_scales.begin(), m.leaf_scales.end()) {
      compact_leaves = values;
      leaf_scales = scales;
    }
    std::vector<std::int16_t> values;
    std::vector<float> scales;
  };
  const float exact[1] = {0};
  const std::vector<std::function<void(CompactCopy&)>> damages = {
      [](CompactCopy& m) { m.values[7] = kCompactLimit + 1; },
      [](CompactCopy& m) { m.values.back() = -kCompactLimit - 1; },
      [](CompactCopy& m) { m.scales.back() = std::numeric_limits<float>::quiet_NaN(); },
      [](CompactCopy& m) { m.scales[0] = -std::numeric_limits<float>::infinity(); },
      [](CompactCopy& m) { m.leaf_scales = m.leaf_scales.first(m.leaf_scales.size() - 1); },
      [](CompactCopy& m) { m.compact_leaves = m.compact_leaves.subspan(1); },
      [](CompactCopy& m) { m.compact_leaves = {}; },
      [&](CompactCopy& m) { m.leaves = exact; },  // both at once
  };
  for (std::size_t i = 0; i < damages.size(); ++i) {
    CompactCopy damaged(*good);
    ASSERT_TRUE(validate(damaged).ok());
    damages[i](damaged);
    const Status status = validate(damaged);
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << "damage " << i;
    EXPECT_FALSE(status.message().empty());
  }
}

TEST(ForestCompact, LeavesAreRoundedToTheNearestStep) {
  const auto model = test::synthetic_forest(7, 3, 9, 3, 10, 47);
  const auto compact = compact_forest(*model);
  ASSERT_EQ(compact->compact_leaves.size(), model->leaves.size());
  const std::size_t size = 14, cascade = model->leaves.size() / 3;
  int largest = 0;
  for (std::size_t i = 0; i < model->leaves.size(); ++i) {
    const float scale = compact->leaf_scales[i / cascade * size + i % size];
    const int value = compact->compact_leaves[i];
    EXPECT_NEAR(static_cast<float>(value) * scale, model->leaves[i], 0.5001f * scale) << i;
    largest = std::max(largest, std::abs(value));
  }
  EXPECT_EQ(largest, kCompactLimit);
}

TEST(BoxFromLandmarks, FindsTheBoxOfAScaledMeanShape) {
  const auto model = test::synthetic_forest(68, 1, 1, 1, 2, 29);
  for (const Box& box : {Box{10, 20, 101, 101}, Box{-3.5f, 700.25f, 33.5f, 33.5f}}) {
    std::vector<Point> points;
    for (std::size_t i = 0; i < 68; ++i) {
      points.push_back({box.x + (box.w - 1) * model->mean_shape[2 * i],
                        box.y + (box.h - 1) * model->mean_shape[2 * i + 1]});
    }
    const Box found = box_from_landmarks(*model, points);
    EXPECT_NEAR(found.x, box.x, 1e-3);
    EXPECT_NEAR(found.y, box.y, 1e-3);
    EXPECT_NEAR(found.w, box.w, 1e-3);
    EXPECT_EQ(found.w, found.h);
  }
}

TEST(BoxFromLandmarks, IsTheLeastSquaresOptimum) {
  const auto model = test::synthetic_forest(68, 1, 1, 1, 2, 31);
  std::mt19937 random(1);
  std::normal_distribution<float> noise(0, 4);
  std::vector<Point> points;
  for (std::size_t i = 0; i < 68; ++i) {
    points.push_back({200 + 100 * model->mean_shape[2 * i] + noise(random),
                      100 + 100 * model->mean_shape[2 * i + 1] + noise(random)});
  }
  const auto error = [&](const Box& b) {
    double sum = 0;
    for (std::size_t i = 0; i < 68; ++i) {
      const double dx = b.x + (b.w - 1.0) * model->mean_shape[2 * i] - points[i].x;
      const double dy = b.y + (b.h - 1.0) * model->mean_shape[2 * i + 1] - points[i].y;
      sum += dx * dx + dy * dy;
    }
    return sum;
  };
  const Box best = box_from_landmarks(*model, points);
  for (const float step : {-0.5f, 0.5f}) {
    EXPECT_GT(error({best.x + step, best.y, best.w, best.h}), error(best));
    EXPECT_GT(error({best.x, best.y + step, best.w, best.h}), error(best));
    EXPECT_GT(error({best.x, best.y, best.w + step, best.h + step}), error(best));
  }
}

TEST(BoxFromLandmarks, GivesAnEmptyBoxWhereThereIsNone) {
  const auto model = test::synthetic_forest(68, 1, 1, 1, 2, 31);
  EXPECT_EQ(box_from_landmarks(*model, std::vector<Point>(67)), Box{});
  EXPECT_EQ(box_from_landmarks(*model, std::vector<Point>(68, Point{5, 5})), Box{});
  std::vector<Point> points(68, Point{5, 5});
  points[3].x = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(box_from_landmarks(*model, points), Box{});
}

}  // namespace
}  // namespace cuface
