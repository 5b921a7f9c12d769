// What the tracker believes of a change of scale.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <opencv2/imgproc.hpp>
#include <random>
#include <vector>

#include "kernels/similarity/fit.h"
#include "kernels/track/loss_rules.h"
#include "tests/kernels/track_world.h"

namespace cuface {
namespace {

constexpr int kWindow = 21;
constexpr double kElapsed = 0.04;

TEST(TrackScale, AllIsBelievedOfPointsWithoutResidualAndLittleOfASmallFaceWith) {
  similarity::Agreement points{64, 0, 0, 64 * 49, 0};
  const auto share = [&](float width, double elapsed = kElapsed) {
    const Box box{0, 0, width, width};
    const double grown = track::believed_scale(1.04, box, points, kWindow, elapsed);
    EXPECT_NEAR(track::believed_scale(0.96, box, points, kWindow, elapsed), 2 - grown, 1e-12);
    return (grown - 1) / 0.04;
  };
  EXPECT_DOUBLE_EQ(share(24), 1);
  points.residual = 64 * 0.16;
  EXPECT_LT(share(24), 0.1);
  EXPECT_GT(share(24), 0.01);
  EXPECT_GT(share(24, 1.0), 0.9) << "much may have happened in a second";
  points.extent = 64 * 2500;
  EXPECT_GT(share(160), 0.95);
  points = {64, 0, 0, 0, 0};
  EXPECT_DOUBLE_EQ(share(24), 1) << "points without spread and without residual";
}

// Heads that grow as kGrowth says, and as many points as there are windows side by side, each with
// an error of its own: what is believed is then nearer to the truth than what was measured.
TEST(TrackScale, IsNearerToTheTruthThanTheFit) {
  std::mt19937 random(3);
  const Box box{0, 0, 63, 63};
  const std::vector<Point> from = {{10, 10}, {31, 10}, {52, 10}, {10, 31}, {31, 31},
                                   {52, 31}, {10, 52}, {31, 52}, {52, 52}};
  for (double noise : {0.2, 0.5, 1.0}) {
    std::normal_distribution<double> growth(0, track::kGrowth * kElapsed), error(0, noise);
    double fitted = 0, believed = 0;
    for (int round = 0; round < 2000; ++round) {
      const double truth = 1 + growth(random);
      std::vector<Point> to;
      for (const Point& p : from) {
        to.push_back({static_cast<float>(truth * p.x + error(random)),
                      static_cast<float>(truth * p.y + error(random))});
      }
      Similarity motion;
      similarity::Agreement agreement;
      ASSERT_TRUE(similarity::fit(from, to, nullptr, motion, &agreement));
      const double scale = std::sqrt(motion.a * motion.a + motion.b * motion.b);
      const double kept = track::believed_scale(scale, box, agreement, kWindow, kElapsed);
      fitted += (scale - truth) * (scale - truth);
      believed += (kept - truth) * (kept - truth);
    }
    // The least that is possible, where the error is known and not guessed from the residuals.
    const double variance = noise * noise / (9 * 2 * 21 * 21 * 2 / 3.0);
    const double prior = track::kGrowth * kElapsed * track::kGrowth * kElapsed;
    const double least = variance * prior / (variance + prior);
    EXPECT_LT(believed / 2000, 1.2 * least) << noise;
    EXPECT_GT(fitted, (noise < 1 ? 1 : 2.5) * believed) << noise;
  }
}

// A face hardly larger than a window of the flow stands still in a camera's noise, of little
// contrast: what its points tell of its scale adds up from frame to frame.
TEST(TrackScale, OfASmallFaceDoesNotWander) {
  const World world;
  cv::RNG random(5);
  double sum = 0;
  constexpr int kFaces = 8, kFrames = 30;
  for (int n = 0; n < kFaces; ++n) {
    const Box box{static_cast<float>(30 + 30 * n), 108, 24, 24};
    const FaceList found = detections({box});
    Session session;
    for (int f = 0; f < kFrames; ++f) {
      cv::Mat frame, noise(world.background.size(), CV_32F);
      world.background.convertTo(frame, CV_32F, 0.3, 90);
      random.fill(noise, cv::RNG::NORMAL, 0, 4);
      frame += noise;
      frame.convertTo(frame, CV_8U);
      const TrackOutput& out = session.step(frame, f == 0 ? &found : nullptr);
      ASSERT_EQ(out.faces.faces.size(), 1u) << n << " " << f;
    }
    sum += std::pow(std::log(session.out.faces.faces[0].box.w / 24.0), 2);
  }
  EXPECT_LT(std::sqrt(sum / kFaces), 0.015);  // 0.025 where all is believed
}

}  // namespace
}  // namespace cuface
