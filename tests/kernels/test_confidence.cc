// Confidences of landmarks: the table, and the spread of samples.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/faces/point_confidence.h"
#include "kernels/landmark_samples/landmark_samples.h"
#include "kernels/landmark_samples/spread.h"
#include "tests/models/synthetic_forest.h"

namespace cuface {
namespace {

constexpr ConfidenceTable kTable = {-3, 4, {1, 0.75f, 0.5f, 0.125f}};

TEST(Confidence, TheTableIsLinearBetweenPowersOfTwo) {
  EXPECT_EQ(confidence_of(kTable, 0.125), 1);
  EXPECT_EQ(confidence_of(kTable, 0.25), 0.75f);
  EXPECT_EQ(confidence_of(kTable, 0.375), 0.625f);
  EXPECT_EQ(confidence_of(kTable, 0.5), 0.5f);
  EXPECT_EQ(confidence_of(kTable, 0.75), 0.3125f);
  EXPECT_EQ(confidence_of(kTable, 1), 0.125f);
  EXPECT_EQ(confidence_of(kTable, 1e300), 0.125f);
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(confidence_of(kTable, kInfinite), 0.125f);
  EXPECT_EQ(confidence_of(kTable, 0), 1);
  EXPECT_EQ(confidence_of(kTable, 5e-324), 1);
  EXPECT_EQ(confidence_of(kTable, std::numeric_limits<double>::quiet_NaN()), 0);
  EXPECT_EQ(confidence_of(kTable, -1), 0);
  float before = 1;
  int compared = 0;
  for (double score = 0.01; score < 2; score *= 1.003, ++compared) {
    const float now = confidence_of(kTable, score);
    ASSERT_LE(now, before) << score;
    before = now;
  }
  EXPECT_GT(compared, 1000);
}

TEST(Confidence, ScoresThatAreLogarithms) {
  EXPECT_EQ(confidence_of_logarithm(kTable, -3), 1);
  EXPECT_EQ(confidence_of_logarithm(kTable, -2), 0.75f);
  EXPECT_EQ(confidence_of_logarithm(kTable, -1.5), 0.625f);
  EXPECT_EQ(confidence_of_logarithm(kTable, -0.5), 0.3125f);
  EXPECT_EQ(confidence_of_logarithm(kTable, 1e300), 0.125f);
  EXPECT_EQ(confidence_of_logarithm(kTable, -1e300), 1);
  EXPECT_EQ(confidence_of_logarithm(kTable, std::numeric_limits<double>::quiet_NaN()), 0);
  // As of the powers themselves, where these are exact.
  for (int i = -40; i < 40; ++i)
    EXPECT_EQ(confidence_of_logarithm(kTable, i), confidence_of(kTable, std::ldexp(1.0, i))) << i;
}

TEST(Confidence, WhatIsNoTable) {
  EXPECT_TRUE(is_sound(kTable));
  EXPECT_TRUE(is_sound(ConfidenceTable{}));
  const auto changed = [](auto change) {
    ConfidenceTable table = kTable;
    change(table);
    return is_sound(table);
  };
  EXPECT_FALSE(changed([](auto& t) { t.steps = 33; }));
  EXPECT_FALSE(changed([](auto& t) { t.steps = -1; }));
  EXPECT_FALSE(changed([](auto& t) { t.first = 2000; }));
  EXPECT_FALSE(changed([](auto& t) { t.at[0] = 1.5f; }));
  EXPECT_FALSE(changed([](auto& t) { t.at[2] = 0.8f; }));
  EXPECT_FALSE(changed([](auto& t) { t.at[3] = -0.1f; }));
  EXPECT_FALSE(changed([](auto& t) { t.at[1] = std::nanf(""); }));
}

TEST(Confidence, SpreadDoesNotHangOnTheNumberOfSamples) {
  std::mt19937 random(3);
  std::normal_distribution<float> noise(0, 2);
  for (const int samples : {2, 4, 16}) {
    double sum = 0;
    constexpr int kRounds = 4000;
    std::vector<Point> at(static_cast<std::size_t>(samples));
    for (int i = 0; i < kRounds; ++i) {
      for (Point& p : at) p = {100 + noise(random), 50 + noise(random)};
      const auto sample = [&](int k) { return at[static_cast<std::size_t>(k)]; };
      sum += static_cast<double>(
          forest::spread_of_samples(samples, mean_of_samples(samples, sample), 10, sample));
    }
    // A distance in the plane is the root of pi / 2 of a coordinate's deviation in the mean.
    EXPECT_NEAR(sum / kRounds, 2 * std::sqrt(1.5707963) / 10, 0.006) << samples;
  }
  EXPECT_EQ(forest::spread_of_samples(3, {1, 2}, 5, [](int) { return Point{1, 2}; }), 0);
}

/// By the landmarker, beside the same from each sample's own points.
TEST(Confidence, TheLandmarkersIsThatOfItsSamples) {
  constexpr int kPoints = 21, kSamples = 5;
  auto model = std::make_shared<ForestModel>(*test::synthetic_forest(kPoints, 3, 12, 4, 50, 7));
  model->confidence = {-20, 20, {}};
  for (int i = 0; i < 20; ++i) model->confidence.at[i] = 1 - static_cast<float>(i) / 20;
  auto sampled = SampledLandmarker::create(Backend::kCpu, model);
  auto single = Landmarker::create(Backend::kCpu, model);
  ASSERT_TRUE(sampled.ok() && single.ok());
  std::mt19937 random(11);
  Image<std::uint8_t> picture(200, 160);
  for (int y = 0; y < 160; ++y)
    for (int x = 0; x < 200; ++x) picture.view().at(x, y) = static_cast<std::uint8_t>(random());
  const std::vector<Box> boxes = {{30, 20, 90, 90}, {-20, 50, 140, 120}, {100, 80, 33, 40}};
  const BoxMap map{0.9f, 0.02f, -0.03f};
  std::vector<Point> points(boxes.size() * kPoints);
  std::vector<float> confidences(points.size());
  ASSERT_TRUE(sampled.value()->has_confidences(kSamples));
  EXPECT_FALSE(sampled.value()->has_confidences(1));
  ASSERT_TRUE(sampled.value()
                  ->enqueue(picture.view(), boxes, map, kSamples, points, {}, {}, confidences)
                  .ok());
  const SampleMaps maps = make_sample_maps(map, kSamples).value();
  long compared = 0, different = 0;
  for (std::size_t face = 0; face < boxes.size(); ++face) {
    std::vector<Box> mapped;
    for (int k = 0; k < kSamples; ++k) mapped.push_back(maps.map[k].apply(boxes[face]));
    std::vector<Point> found(mapped.size() * kPoints);
    ASSERT_TRUE(single.value()->enqueue(picture.view(), mapped, found).ok());
    std::vector<double> spread(kPoints);
    double all = 0;
    for (std::size_t i = 0; i < kPoints; ++i) {
      const Point mean = points[face * kPoints + i];
      for (std::size_t k = 0; k < kSamples; ++k)
        spread[i] += std::hypot(static_cast<double>(found[k * kPoints + i].x - mean.x),
                                static_cast<double>(found[k * kPoints + i].y - mean.y));
      spread[i] /= std::sqrt(kSamples * (kSamples - 1.0)) * static_cast<double>(mapped[0].w);
      all += spread[i] / kPoints;
    }
    for (std::size_t i = 0; i < kPoints; ++i, ++compared) {
      const float got = confidences[face * kPoints + i];
      EXPECT_NEAR(got, confidence_of(model->confidence, spread[i] * all), 2e-5) << face << " " << i;
      different += got != confidences[face * kPoints];
    }
  }
  EXPECT_EQ(compared, 63);
  EXPECT_GT(different, 40) << "not one for all";

  std::vector<Point> alone(points.size());
  ASSERT_TRUE(sampled.value()->enqueue(picture.view(), boxes, map, kSamples, alone).ok());
  EXPECT_EQ(alone, points) << "confidences change no point";
  std::vector<float> few(3);
  EXPECT_EQ(
      sampled.value()->enqueue(picture.view(), boxes, map, kSamples, alone, {}, {}, few).code(),
      StatusCode::kInvalidArgument);
  EXPECT_EQ(
      sampled.value()->enqueue(picture.view(), boxes, map, 1, alone, {}, {}, confidences).code(),
      StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
