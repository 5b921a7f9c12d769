// The constraint of a shape search against OpenCV's least squares, its rules, and points that are
// missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <random>
#include <vector>

#include "kernels/shape/search.h"
#include "tests/kernels/shape_models.h"

namespace cuface {
namespace {

/// The constraint with OpenCV's matrices and its solver for least squares.
std::vector<ShapePoint> constrained(const ShapeModel& m, int level, cv::Mat_<double>& b,
                                    const std::vector<ShapePoint>& points) {
  const int n = m.points;
  const double scale = std::pow(0.5, level);
  const cv::Mat_<double> mean =
      cv::Mat_<double>(2 * n, 1, const_cast<double*>(m.mean_shape.data())) * scale;
  const cv::Mat_<double> modes(2 * n, m.modes, const_cast<double*>(m.eigenvectors.data()));
  const cv::Mat_<double> shape = mean + modes * b;
  cv::Mat_<double> a(2 * n, 4), y(2 * n, 1);
  for (int i = 0; i < n; ++i) {
    const double w = std::sqrt(m.weights[static_cast<std::size_t>(i)]);
    const double px = shape(2 * i), py = shape(2 * i + 1);
    const ShapePoint& to = points[static_cast<std::size_t>(i)];
    const double rows[2][4] = {{px, -py, 1, 0}, {py, px, 0, 1}};
    for (int k = 0; k < 4; ++k) a(2 * i, k) = w * rows[0][k], a(2 * i + 1, k) = w * rows[1][k];
    y(2 * i) = w * to.x, y(2 * i + 1) = w * to.y;
  }
  cv::Mat_<double> pose;
  cv::solve(a, y, pose, cv::DECOMP_SVD);
  const double c = pose(0), s = pose(1), square = c * c + s * s;
  cv::Mat_<double> back(2 * n, 1);
  for (int i = 0; i < n; ++i) {
    const double x = points[static_cast<std::size_t>(i)].x - pose(2);
    const double down = points[static_cast<std::size_t>(i)].y - pose(3);
    back(2 * i) = (c * x + s * down) / square;
    back(2 * i + 1) = (c * down - s * x) / square;
  }
  b = modes.t() * (back - mean);
  for (int k = 0; k < m.modes; ++k) {
    const double limit =
        m.mode_limit * std::sqrt(m.eigenvalues[static_cast<std::size_t>(k)]) * scale;
    b(k) = std::clamp(b(k), -limit, limit);
  }
  const cv::Mat_<double> legal = mean + modes * b;
  std::vector<ShapePoint> out;
  for (int i = 0; i < n; ++i) {
    const double px = legal(2 * i), py = legal(2 * i + 1);
    out.push_back({c * px - s * py + pose(2), s * px + c * py + pose(3)});
  }
  return out;
}

TEST(Shape, TheConstraintIsLeastSquares) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  double largest = 0;
  int cut = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    ShapeModel m;
    test::ShapeTables tables;
    test::random_shape(m, tables, seed, 11);
    m.first_rule_level = kMaxShapeLevels;  // no rules
    m.mode_limit = 0.3;
    ASSERT_TRUE(validate(m).ok());
    shape::Constraint constraint(m);
    constraint.start_level(1);
    cv::Mat_<double> b = cv::Mat_<double>::zeros(m.modes, 1);
    std::vector<ShapePoint> points;
    for (int i = 0; i < m.points; ++i) {
      const double x = m.mean_shape[2 * static_cast<std::size_t>(i)] / 2;
      const double y = m.mean_shape[2 * static_cast<std::size_t>(i) + 1] / 2;
      points.push_back({1.1 * x - 0.3 * y + 90 + 4 * normal(random),
                        0.3 * x + 1.1 * y + 70 + 4 * normal(random)});
    }
    for (int i = 0; i < 3; ++i) {  // the weights of one are the next one's start
      const std::vector<ShapePoint> expected = constrained(m, 1, b, points);
      constraint.run(points);
      for (std::size_t p = 0; p < points.size(); ++p) {
        largest =
            std::max(largest, std::hypot(points[p].x - expected[p].x, points[p].y - expected[p].y));
        points[p].x += normal(random);
      }
      for (int k = 0; k < m.modes; ++k) {
        EXPECT_NEAR(constraint.weights()[static_cast<std::size_t>(k)], b(k), 1e-9);
        cut += std::abs(std::abs(b(k)) -
                        m.mode_limit * std::sqrt(m.eigenvalues[static_cast<std::size_t>(k)]) / 2) <
               1e-12;
      }
    }
  }
  EXPECT_LT(largest, 1e-9);
  EXPECT_GT(cut, 10) << "weights that were cut";
}

/// A model whose constraint changes nothing but what its rules say.
class Rules : public testing::Test {
 protected:
  Rules() {
    test::random_shape(model_, tables_, 4);
    std::fill(tables_.eigenvectors.begin(), tables_.eigenvectors.end(), 0.0);
    model_.first_rule_level = 0;
    std::fill(tables_.weights.begin(), tables_.weights.end(), 1.0);
    tables_.show(model_);
  }
  /// Where the mean shape's points go.
  std::vector<ShapePoint> moved() {
    EXPECT_TRUE(validate(model_).ok());
    shape::Constraint constraint(model_);
    constraint.start_level(0);
    std::vector<ShapePoint> points, before;
    for (std::size_t i = 0; i < 8; ++i)
      points.push_back({model_.mean_shape[2 * i] + 200, model_.mean_shape[2 * i + 1] + 100});
    before = points;
    constraint.run(points);
    for (std::size_t i = 0; i < 8; ++i)
      points[i] = {points[i].x - before[i].x, points[i].y - before[i].y};
    return points;
  }
  ShapeModel model_;
  test::ShapeTables tables_;
};

TEST_F(Rules, MovePointsBySizeAndSkipTheNext) {
  // Point 1 is above point 2, so the first rule counts, and the second does not.
  std::vector<ShapePoint> points = moved();
  const double size =
      std::hypot((0 - 50 * std::sin(M_PI / 4)) / 2 - 0, (-50 - 50 * std::cos(M_PI / 4)) / 2 - 50);
  EXPECT_NEAR(points[1].y, 0.06 * size, 1e-9);
  EXPECT_NEAR(points[2].y, -0.03 * size, 1e-9);
  EXPECT_NEAR(points[3].x, 0, 1e-9);
  // Without it the second counts: x1 - x2 is below twice x4, and its amount is the shift's unit.
  tables_.rules[0].limit = -10;
  tables_.show(model_);
  points = moved();
  EXPECT_NEAR(points[1].y, 0, 1e-9);
  EXPECT_NEAR(points[3].x, 0.06 * std::abs(-50 * std::sin(M_PI / 4) + 50), 1e-9);
  // A sum below 0 that is compared with counts as 0.
  tables_.rules[1].measure[0].weight = -1;
  tables_.rules[1].measure[1].weight = 1;
  tables_.rules[1].against[0].weight = -1;
  tables_.show(model_);
  EXPECT_NEAR(moved()[3].x, 0.06 * std::abs(-50 * std::sin(M_PI / 4) + 50), 1e-9);
}

/// Points of a small shape far from the origin: the largest entry of a column is below its
/// diagonal.
TEST(Shape, TheConstraintPivots) {
  ShapeModel m;
  test::ShapeTables tables;
  test::random_shape(m, tables, 3);
  m.first_rule_level = kMaxShapeLevels;
  m.missing_within = 0;
  for (double& v : tables.mean_shape) v = 0.002 * v + 0.3;
  for (double& v : tables.eigenvectors) v *= 0.002;
  std::vector<ShapePoint> points;
  for (int i = 0; i < m.points; ++i) {
    const double x = m.mean_shape[2 * static_cast<std::size_t>(i)];
    const double y = m.mean_shape[2 * static_cast<std::size_t>(i) + 1];
    points.push_back({3 * x - 2 * y + 5 + 0.01 * (i % 3), 2 * x + 3 * y + 7 - 0.01 * (i % 2)});
  }
  shape::Constraint constraint(m);
  constraint.start_level(0);
  cv::Mat_<double> b = cv::Mat_<double>::zeros(m.modes, 1);
  const std::vector<ShapePoint> expected = constrained(m, 0, b, points);
  constraint.run(points);
  for (std::size_t p = 0; p < points.size(); ++p) {
    EXPECT_NEAR(points[p].x, expected[p].x, 1e-9);
    EXPECT_NEAR(points[p].y, expected[p].y, 1e-9);
  }
}

TEST_F(Rules, PointsAtTheOriginAreMissing) {
  model_.first_rule_level = kMaxShapeLevels;
  std::vector<ShapePoint> points;
  for (std::size_t i = 0; i < 8; ++i) {
    points.push_back({model_.mean_shape[2 * i] + 40, model_.mean_shape[2 * i + 1] + 40});
  }
  const ShapePoint third = points[3];
  points[5] = {0.05, -0.05};
  std::vector<ShapePoint> all = points;
  shape::Constraint constraint(model_);
  constraint.start_level(0);
  constraint.run(points);
  EXPECT_NEAR(points[3].x, third.x, 1e-9) << "the others fit";
  EXPECT_NEAR(points[3].y, third.y, 1e-9);
  model_.missing_within = 0;
  shape::Constraint counts(model_);
  counts.start_level(0);
  counts.run(all);
  EXPECT_GT(std::hypot(all[3].x - third.x, all[3].y - third.y), 1) << "now it counts";
}

}  // namespace
}  // namespace cuface
