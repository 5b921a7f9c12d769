// Inertia of landmarks: the weights, faces that have jumped, and what it does to a trembling point.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "kernels/common/lanes.h"
#include "kernels/landmark_filter/inertia.h"

namespace cuface {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Faces of ids from 1 on, each in a box of this width.
std::vector<Face> faces_with_ids(int count, float width) {
  std::vector<Face> faces(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    faces[static_cast<std::size_t>(i)].id = static_cast<std::uint64_t>(1 + i);
    faces[static_cast<std::size_t>(i)].box = {0, 0, width, width};
  }
  return faces;
}

class Inertia : public testing::Test {
 protected:
  /// The next frame of these faces.
  std::vector<Point> next(const std::vector<Face>& faces, std::vector<Point> landmarks,
                          const std::vector<Point>& carried, float inertia) {
    const int count = static_cast<int>(faces.size());
    forest::add_inertia(
        SerialLanes{}, *state_, faces.data(), count, static_cast<int>(landmarks.size()) / count,
        carried.empty() ? nullptr : carried.data(), landmarks.data(), inertia, scratch_);
    return landmarks;
  }
  /// The first frame that knows a face, so that nothing is known of how far it was carried.
  std::vector<Point> after(std::vector<Point> landmarks, const std::vector<Point>& carried,
                           int faces, float inertia = 0.6f, float width = 100) {
    *state_ = {};
    return next(faces_with_ids(faces, width), std::move(landmarks), carried, inertia);
  }
  std::unique_ptr<InertiaState> state_ = std::make_unique<InertiaState>();
  forest::InertiaScratch scratch_;
};

TEST_F(Inertia, IsTheWeightOfTheCarriedPoint) {
  const auto points = after({{10, 20}, {30, 40}}, {{12, 21}, {29, 40}}, 1, 0.75f);
  EXPECT_EQ(points[0], (Point{11.5f, 20.75f}));
  EXPECT_EQ(points[1], (Point{29.25f, 40}));
  EXPECT_EQ(after({{10, 20}}, {{12, 21}}, 1, 0)[0], (Point{10, 20}));
}

TEST_F(Inertia, AFaceThatWasNotCarriedIsAsMeasured) {
  const std::vector<Point> measured{{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  const auto points = after(measured, {{kNan, kNan}, {kNan, kNan}, {5, 7}, {8, 8}}, 2);
  EXPECT_EQ(points[0], measured[0]);
  EXPECT_EQ(points[1], measured[1]);
  EXPECT_NE(points[2], measured[2]);
  EXPECT_NE(points[3], measured[3]);
}

TEST_F(Inertia, AFaceThatHasJumpedIsAsMeasured) {
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

// The longer the way on which a point was carried, the less it counts.
TEST_F(Inertia, FallsWithTheWayOfThePoint) {
  const auto faces = faces_with_ids(2, 200);
  const float half = forest::kHalfInertia * 200;
  const std::vector<Point> at{{10, 20}, {30, 40}, {50, 60}, {70, 80}};
  const auto weights = [&](const std::vector<Point>& by) {
    *state_ = {};
    next(faces, at, at, 0.8f);
    std::vector<Point> measured, carried;
    for (std::size_t i = 0; i < at.size(); ++i) {
      carried.push_back({at[i].x + by[i].x, at[i].y + by[i].y});
      measured.push_back({carried[i].x + 1, carried[i].y});
    }
    std::vector<float> result;
    const auto got = next(faces, measured, carried, 0.8f);
    for (std::size_t i = 0; i < at.size(); ++i) {
      result.push_back(measured[i].x - got[i].x);
      EXPECT_EQ(got[i].y, measured[i].y);
    }
    return result;
  };
  const auto got = weights({{0, 0}, {half, 0}, {0, -3 * half}, {3, 4}});
  EXPECT_NEAR(got[0], 0.8, 1e-5);
  EXPECT_NEAR(got[1], 0.4, 1e-5);
  EXPECT_NEAR(got[2], 0.2, 1e-5);
  EXPECT_NEAR(got[3], 0.8 * half / (half + 5), 1e-5);
}

// The way is that from where the same face's point was delivered in the frame before.
TEST_F(Inertia, KnowsTheFrameBeforeByTheFacesId) {
  auto faces = faces_with_ids(2, 100);
  const float half = forest::kHalfInertia * 100;
  const std::vector<Point> first{{10, 10}, {50, 10}};
  const std::vector<Point> measured{{51, 10}, {11, 10}}, carried{{50, 10}, {10 + half, 10}};
  next(faces, first, first, 0.8f);
  std::swap(faces[0], faces[1]);
  auto got = next(faces, measured, carried, 0.8f);
  EXPECT_NEAR(got[0].x, 51 - 0.8f, 1e-4) << "at rest";
  EXPECT_NEAR(got[1].x, 11 - 0.4f * (1 - half), 1e-4);

  next(faces, first, first, 0.8f);
  faces[1].id = 9;
  got = next(faces, first, {{10, 11}, {50 + half, 10}}, 0.8f);
  EXPECT_NEAR(got[1].x, 50 + 0.8f * half, 1e-4) << "nothing is known of a new face";

  *state_ = {};
  EXPECT_EQ(next(faces, first, {}, 0.8f), first) << "nobody carries them";
  got = next(faces, first, {{10, 11}, {50 + half, 10}}, 0.8f);
  EXPECT_NEAR(got[1].x, 50 + 0.4f * half, 1e-4) << "but they are known";

  faces[1].id = 0;
  next(faces, first, first, 0.8f);
  got = next(faces, first, {{10, 11}, {50 + half, 10}}, 0.8f);
  EXPECT_NEAR(got[1].x, 50 + 0.8f * half, 1e-4) << "no id, no memory";
}

// A point that moves slowly, found anew with noise in each frame and carried without an error: the
// noise left is that of the filter's theory, and nothing lags.
TEST_F(Inertia, CalmsAMovingPointWithoutLag) {
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
    last = next(faces_with_ids(1, 1e6f), {{truth + noise(random), 0}}, {carried}, kInertia)[0];
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
