// Inertia of landmarks: the weights, faces that have jumped, and what it does to a trembling point.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/common/lanes.h"
#include "kernels/forest/inertia.h"

namespace cuface {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<Point> after(std::vector<Point> landmarks, const std::vector<Point>& carried, int faces,
                         float inertia = 0.6f, float width = 100) {
  std::vector<Face> all(static_cast<std::size_t>(faces));
  for (Face& face : all) face.box = {0, 0, width, width};
  bool jumped[64];
  forest::add_inertia(SerialLanes{}, all.data(), faces, static_cast<int>(landmarks.size()) / faces,
                      carried.data(), landmarks.data(), inertia, jumped);
  return landmarks;
}

TEST(Inertia, IsTheWeightOfTheCarriedPoint) {
  const auto points = after({{10, 20}, {30, 40}}, {{12, 21}, {29, 40}}, 1, 0.75f);
  EXPECT_EQ(points[0], (Point{11.5f, 20.75f}));
  EXPECT_EQ(points[1], (Point{29.25f, 40}));
  EXPECT_EQ(after({{10, 20}}, {{12, 21}}, 1, 0)[0], (Point{10, 20}));
}

TEST(Inertia, AFaceThatWasNotCarriedIsAsMeasured) {
  const std::vector<Point> measured{{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  const auto points = after(measured, {{kNan, kNan}, {kNan, kNan}, {5, 7}, {8, 8}}, 2);
  EXPECT_EQ(points[0], measured[0]);
  EXPECT_EQ(points[1], measured[1]);
  EXPECT_NE(points[2], measured[2]);
  EXPECT_NE(points[3], measured[3]);
}

TEST(Inertia, AFaceThatHasJumpedIsAsMeasured) {
  const std::vector<Point> measured{{10, 10}, {20, 10}, {30, 10}, {40, 10}};
  const auto moved = [&](int far, float by) {
    std::vector<Point> carried = measured;
    for (std::size_t i = 0; i < carried.size(); ++i)
      carried[i].y += static_cast<int>(i) < far ? by : 1.0f;
    return after(measured, carried, 1);
  };
  EXPECT_NE(moved(2, 10.1f), measured) << "half of them are near";
  EXPECT_EQ(moved(3, 10.1f), measured);
  EXPECT_NE(moved(4, 9.9f), measured) << "a tenth of the width is near";
  EXPECT_EQ(moved(4, kNan), measured);
}

// A point that moves, found anew with noise in each frame and carried without an error: the noise
// left is that of the filter's theory, and nothing lags.
TEST(Inertia, CalmsAMovingPointWithoutLag) {
  constexpr int kFrames = 20'000;
  constexpr float kInertia = 0.6f, kNoise = 0.5f;
  std::mt19937 random(1);
  std::normal_distribution<float> noise(0, kNoise);
  Point last{0, 0};
  double sum = 0, square = 0;
  for (int f = 1; f <= kFrames; ++f) {
    const float truth = 3 * std::sin(0.1f * static_cast<float>(f)),
                before = 3 * std::sin(0.1f * static_cast<float>(f - 1));
    const Point carried{last.x + (truth - before), 0};
    last = after({{truth + noise(random), 0}}, {carried}, 1, kInertia)[0];
    const double error = last.x - truth;
    sum += error;
    square += error * error;
  }
  // An average with weights (1 - i) i^k has the variance (1 - i) / (1 + i) of one measurement.
  const double expected = kNoise * std::sqrt((1 - kInertia) / (1 + kInertia));
  EXPECT_NEAR(std::sqrt(square / kFrames), expected, 0.02 * expected);
  EXPECT_NEAR(sum / kFrames, 0, 0.02);
}

}  // namespace
}  // namespace cuface
