// The turn of a head: remembered by its face's id, and the forest in a picture turned with it.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/common/lanes.h"
#include "kernels/landmark_samples/landmark_samples.h"
#include "kernels/landmarks/roll.h"
#include "models/models.h"
#include "tests/drawn_heads.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

constexpr BoxMap kMap{0.95f, 0.01f, 0.025f};

Roll turned(double degrees) {
  const double angle = degrees * std::acos(-1.0) / 180;
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

/// Pixels of neighbours differ little, so that a rounding seldom changes a split.
cv::Mat smooth_noise(int width, int height) {
  cv::Mat picture(height, width, CV_8UC1);
  cv::RNG(4).fill(picture, cv::RNG::UNIFORM, 0, 256);
  cv::GaussianBlur(picture, picture, {}, 3);
  cv::normalize(picture, picture, 0, 255, cv::NORM_MINMAX);
  return picture;
}

Face face_of(std::uint64_t id, Origin origin) {
  Face face;
  face.id = id;
  face.origin = origin;
  return face;
}

class TurnedForest : public test::EveryVersion {};
CUFACE_EVERY_VERSION(TurnedForest);

// A picture turned by a quarter is the same pixels, so the landmarks in it are those of the upright
// one, turned: in each box, through the map and with samples too.
TEST_P(TurnedForest, TurnedPicturesGiveTurnedLandmarks) {
  const auto model = test::drawn_heads_forest();
  const auto landmarker = SampledLandmarker::create(Backend::kCpu, model);
  ASSERT_TRUE(landmarker.ok());
  const cv::Mat upright = smooth_noise(320, 240);
  const std::vector<Box> boxes{{41.3f, 52.7f, 97.1f, 97.1f},
                               {150.2f, 33.4f, 120.6f, 120.6f},
                               {-20.3f, 100.8f, 110.2f, 110.2f}};
  const std::size_t n = boxes.size() * test::kDrawnHeadPoints;
  for (const int samples : {1, 3}) {
    std::vector<Point> straight(n), without(n);
    const std::vector<Roll> none(boxes.size());
    ASSERT_TRUE(landmarker.value()
                    ->enqueue(test::view_of(upright), boxes, kMap, samples, straight, none)
                    .ok());
    ASSERT_TRUE(
        landmarker.value()->enqueue(test::view_of(upright), boxes, kMap, samples, without).ok());
    EXPECT_EQ(straight, without);
    cv::Mat picture = upright;
    std::vector<Box> moved = boxes;
    std::vector<Point> want = straight;
    for (const int degrees : {90, 180, 270}) {
      // Pixel (x, y) goes to (height - 1 - y, x).
      const float height = static_cast<float>(picture.rows);
      cv::Mat next;
      cv::rotate(picture, next, cv::ROTATE_90_CLOCKWISE);
      picture = next.clone();
      for (Box& b : moved) b = {height - b.y - b.h, b.x, b.h, b.w};
      for (Point& p : want) p = {height - 1 - p.y, p.x};
      std::vector<Point> got(n);
      const std::vector<Roll> rolls(boxes.size(), turned(degrees));
      ASSERT_TRUE(landmarker.value()
                      ->enqueue(test::view_of(picture), moved, kMap, samples, got, rolls)
                      .ok());
      int near = 0;
      for (std::size_t i = 0; i < n; ++i)
        near += std::hypot(got[i].x - want[i].x, got[i].y - want[i].y) < 1e-2;
      EXPECT_EQ(near, static_cast<int>(n)) << degrees << " degrees, " << samples << " samples";
    }
  }
}

// Any angle: vector code has the reference's bits.
TEST_P(TurnedForest, HasTheBitsOfTheReference) {
  const auto model = test::drawn_heads_forest();
  const auto landmarker = SampledLandmarker::create(Backend::kCpu, model);
  ASSERT_TRUE(landmarker.ok());
  const cv::Mat picture = smooth_noise(320, 240);
  const auto landmarks_in = [&](Box box, Roll roll) {
    std::vector<Point> out(test::kDrawnHeadPoints);
    EXPECT_TRUE(landmarker.value()
                    ->enqueue(test::view_of(picture), {&box, 1}, kMap, 1, out, {&roll, 1})
                    .ok());
    return out;
  };
  int compared = 0, moved = 0;
  for (int degrees = -175; degrees <= 180; degrees += 5) {
    const float x = static_cast<float>(degrees) * 0.37f + 100;
    const Box box{x, 60.3f, 101.7f, 99.2f};
    const auto got = landmarks_in(box, turned(degrees));
    ASSERT_TRUE(simd::force("scalar").ok());
    const auto want = landmarks_in(box, turned(degrees));
    moved += want != landmarks_in(box, {});
    ASSERT_TRUE(simd::force(GetParam()).ok());
    ASSERT_EQ(got, want) << degrees << " degrees";
    ++compared;
  }
  EXPECT_EQ(compared, 72);
  EXPECT_EQ(moved, 71) << "only an upright face is upright";
}

TEST(RollArguments, EveryBoxOrNoneHasOne) {
  const auto model = test::drawn_heads_forest();
  const auto landmarker = SampledLandmarker::create(Backend::kCpu, model);
  ASSERT_TRUE(landmarker.ok());
  const cv::Mat picture = smooth_noise(64, 64);
  const std::vector<Box> boxes(2, {10, 10, 40, 40});
  const std::vector<Roll> one(1);
  std::vector<Point> out(18, {-7, -7});
  const auto status = landmarker.value()->enqueue(test::view_of(picture), boxes, {}, 1, out, one);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(out, std::vector<Point>(18, {-7, -7}));
}

TEST(RollMemory, KnowsTheTurnOfTheLandmarksByTheFacesId) {
  const std::vector<Point> mean = mean_points(*test::drawn_heads_forest());
  std::vector<Face> faces;
  std::vector<Point> landmarks;
  for (int i = 0; i < 5; ++i) {
    faces.push_back(face_of(static_cast<std::uint64_t>(10 + i), Origin::kTracked));
    const Roll roll = turned(40.0 * i - 80);
    for (const Point& p : mean)
      landmarks.push_back({100 * (roll.cos * p.x - roll.sin * p.y) + 30,
                           100 * (roll.sin * p.x + roll.cos * p.y) + 70});
  }
  RollState state;
  forest::remember_rolls(SerialLanes{}, state, faces.data(), landmarks.data(), 5, mean);
  for (int i = 0; i < 5; ++i) {
    const Roll got = forest::recall_roll(state, faces[static_cast<std::size_t>(i)]);
    const Roll want = turned(40.0 * i - 80);
    EXPECT_NEAR(got.cos, want.cos, 1e-5);
    EXPECT_NEAR(got.sin, want.sin, 1e-5);
  }
  EXPECT_EQ(forest::recall_roll(state, face_of(99, Origin::kTracked)), Roll{}) << "not known";
  EXPECT_EQ(forest::recall_roll(state, face_of(0, Origin::kTracked)), Roll{}) << "no id";
  EXPECT_EQ(forest::recall_roll(state, face_of(10, Origin::kDetected)), Roll{})
      << "a face at 80 degrees is not found upright";
  EXPECT_EQ(forest::recall_roll(state, face_of(12, Origin::kDetected)),
            forest::recall_roll(state, faces[2]));
  // Of what a detector finds turned.
  const auto seen_at = [](double degrees, std::uint64_t id, Origin origin) {
    Face face = face_of(id, origin);
    face.roll = turned(degrees);
    return face;
  };
  EXPECT_EQ(forest::recall_roll(state, seen_at(50, 99, Origin::kDetected)), turned(50));
  EXPECT_EQ(forest::recall_roll(state, seen_at(50, 0, Origin::kDetected)), turned(50));
  EXPECT_EQ(forest::recall_roll(state, seen_at(50, 99, Origin::kTracked)), turned(50));
  EXPECT_NEAR(forest::recall_roll(state, seen_at(-60, 10, Origin::kDetected)).sin, turned(-80).sin,
              1e-5)
      << "what is remembered is nearer the truth than the angle of a search";
  EXPECT_EQ(forest::recall_roll(state, seen_at(-45, 10, Origin::kDetected)), turned(-45))
      << "a face at -80 degrees is not found at -45";
  EXPECT_NEAR(forest::recall_roll(state, seen_at(-45, 10, Origin::kTracked)).sin, turned(-80).sin,
              1e-5);
  // A network's points turn less than the head. 10 is remembered at -80 degrees, 14 at 80.
  const auto by_network = [&](double degrees, std::uint64_t id) {
    Face face = seen_at(degrees, id, Origin::kDetected);
    face.has_keypoints = true;
    return forest::recall_roll(state, face);
  };
  const auto known = [&](std::size_t i) { return forest::recall_roll(state, faces[i]); };
  EXPECT_EQ(by_network(20, 14), known(4)) << "the head may be turned further";
  EXPECT_EQ(by_network(-20, 10), known(0));
  EXPECT_EQ(by_network(100, 14), known(4)) << "nearly as far";
  EXPECT_EQ(by_network(-5, 14), turned(-5)) << "the other way";
  EXPECT_EQ(by_network(-100, 14), turned(-100));
  EXPECT_EQ(by_network(0, 14), Roll{});
  EXPECT_EQ(by_network(115, 14), turned(115)) << "not less far";
  EXPECT_EQ(by_network(20, 99), turned(20)) << "not known";
  forest::remember_rolls(SerialLanes{}, state, faces.data(), landmarks.data(), 1, mean);
  EXPECT_EQ(forest::recall_roll(state, faces[3]), Roll{}) << "gone";
}

TEST(RollMemory, LandmarksWithoutAShapeAreUpright) {
  const std::vector<Point> mean = mean_points(*test::drawn_heads_forest());
  std::vector<Point> landmarks(mean.size(), {5, 5});
  EXPECT_EQ(forest::roll_of(mean, landmarks), Roll{});
  landmarks[3].x = std::nanf("");
  EXPECT_EQ(forest::roll_of(mean, landmarks), Roll{});
}

}  // namespace
}  // namespace cuface
