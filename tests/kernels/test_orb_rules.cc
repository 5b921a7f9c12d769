// ORB's numbers against OpenCV's: directions, turns, weights, levels, and the pattern, which is
// measured from cv::ORB's answers to pictures of one pixel.
#include <gtest/gtest.h>

#include <cmath>
#include <opencv2/features2d.hpp>
#include <opencv2/imgproc.hpp>
#include <random>

#include "kernels/orb/pattern.h"
#include "kernels/orb/plan.h"
#include "kernels/orb/rules.h"

namespace cuface {
namespace {

TEST(OrbRules, DirectionsAreOpenCvs) {
  std::mt19937 random(1);
  for (int i = 0; i < 400'000; ++i) {
    const int range = i % 2 ? 700'001 : 31;
    const auto value = [&] {
      return static_cast<float>(static_cast<int>(random() % static_cast<unsigned>(range)) -
                                range / 2);
    };
    const float x = value(), y = value();
    ASSERT_EQ(orb::direction(y, x), cv::fastAtan2(y, x)) << y << "," << x;
  }
}

TEST(OrbRules, TurnsAreThoseOfTheLibraryRounded) {
  int other = 0;
  constexpr int kSteps = 1'000'000;
  for (int i = 0; i <= kSteps; ++i) {
    const float degrees = 360.0f * static_cast<float>(i) / kSteps;
    const double radians = degrees * static_cast<float>(CV_PI / 180.f);
    const Roll roll = orb::roll_of(degrees);
    ASSERT_NEAR(roll.cos, std::cos(radians), 1e-7);
    ASSERT_NEAR(roll.sin, std::sin(radians), 1e-7);
    other += roll.cos != static_cast<float>(std::cos(radians)) ||
             roll.sin != static_cast<float>(std::sin(radians));
  }
  EXPECT_LE(other, 10);
}

TEST(OrbRules, WeightsOfTheBlurAreOpenCvs) {
  const cv::Mat weights = cv::getGaussianKernel(2 * orb::kBlurReach + 1, 2, CV_32F);
  for (int i = 0; i <= orb::kBlurReach; ++i) EXPECT_EQ(orb::kBlur[i], weights.at<float>(i));
}

TEST(OrbRules, TheCircleIsTheSameAlongBothAxes) {
  for (int v = 0; v <= orb::kRadius; ++v) {
    for (int u = 0; u <= orb::kRadius; ++u)
      EXPECT_EQ(u <= orb::kHalfWidth[v], v <= orb::kHalfWidth[u]) << u << "," << v;
  }
}

/// Bit i: whether the first pixel of pair i is darker than the second, for a keypoint in the
/// middle.
std::vector<std::uint8_t> bits_of(const cv::Mat& picture) {
  static const cv::Ptr<cv::ORB> peer = cv::ORB::create();
  std::vector<cv::KeyPoint> middle = {
      {static_cast<float>(picture.cols / 2), static_cast<float>(picture.rows / 2), 31, 0, 1, 0}};
  cv::Mat bytes;
  peer->compute(picture, middle, bytes);
  std::vector<std::uint8_t> bits;
  for (int i = 0; i < 256; ++i) bits.push_back(bytes.at<std::uint8_t>(0, i / 8) >> i % 8 & 1);
  return bits;
}

// A spot of 12 on a plain ground leaves one blurred pixel that differs, by one: its middle.
TEST(OrbRules, ThePatternIsWhatOpenCvCompares) {
  constexpr int kMiddle = 64, kReach = 15;
  int found = 0;
  for (int y = -kReach; y <= kReach; ++y) {
    for (int x = -kReach; x <= kReach; ++x) {
      cv::Mat light(2 * kMiddle + 1, 2 * kMiddle + 1, CV_8U, cv::Scalar(100));
      cv::Mat dark = light.clone();
      light.at<std::uint8_t>(kMiddle + y, kMiddle + x) = 112;
      dark.at<std::uint8_t>(kMiddle + y, kMiddle + x) = 88;
      const std::vector<std::uint8_t> lights = bits_of(light), darks = bits_of(dark);
      for (std::size_t i = 0; i < 256; ++i) {
        const orb::Pair& p = orb::kPattern[i];
        ASSERT_EQ(lights[i] != 0, p.x1 == x && p.y1 == y) << i << " at " << x << "," << y;
        ASSERT_EQ(darks[i] != 0, p.x0 == x && p.y0 == y) << i << " at " << x << "," << y;
        found += lights[i] + darks[i];
      }
    }
  }
  EXPECT_EQ(found, 512);
}

TEST(OrbRules, LevelsShareTheKeypoints) {
  const std::vector<orb::OrbLevel> levels = orb::plan_levels({}, 1280, 720);
  ASSERT_EQ(levels.size(), 8u);
  int shares = 0;
  for (const orb::OrbLevel& level : levels) shares += level.share;
  EXPECT_EQ(shares, 1020);
  EXPECT_EQ(levels[0].share, 222);
  EXPECT_EQ(levels[1].width, 1067);
  EXPECT_EQ(levels[7].height, 201);
  EXPECT_EQ(orb::plan_levels({}, 100, 100).size(), 3u) << "100, 83, 69, and 58 is all edge";
  EXPECT_TRUE(orb::plan_levels({}, 62, 900).empty());
}

}  // namespace
}  // namespace cuface
