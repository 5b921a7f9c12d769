// FAST against cv::FAST: the same corners with the same scores in the same order.
#include <gtest/gtest.h>

#include <cstdio>
#include <opencv2/features2d.hpp>
#include <random>

#include "kernels/fast/fast.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

std::vector<Corner> opencv(const cv::Mat& picture, int threshold) {
  std::vector<cv::KeyPoint> found;
  cv::FAST(picture, found, threshold, true);
  std::vector<Corner> corners;
  for (const cv::KeyPoint& p : found) {
    corners.push_back({static_cast<std::int16_t>(p.pt.x), static_cast<std::int16_t>(p.pt.y),
                       static_cast<std::int32_t>(p.response)});
  }
  return corners;
}

std::vector<Corner> ours(const cv::Mat& picture, int threshold, Rect part) {
  Result<FastDetector> detector = FastDetector::create(picture.cols, picture.rows);
  std::vector<Corner> corners(3);  // what was there goes
  EXPECT_TRUE(detector.ok());
  EXPECT_TRUE(detector.value().run(test::view_of(picture), threshold, part, corners).ok());
  return corners;
}

std::vector<Corner> ours(const cv::Mat& picture, int threshold) {
  return ours(picture, threshold, {0, 0, picture.cols, picture.rows});
}

class Fast : public test::EveryVersion {};
CUFACE_EVERY_VERSION(Fast);

TEST_P(Fast, EqualsOpenCvOnEverySmallSize) {
  std::size_t corners = 0;
  for (int h = 1; h <= 12; ++h) {
    for (int w = 1; w <= 90; ++w) {
      const cv::Mat picture = test::noise(w, h, w * 100u + h);
      const std::vector<Corner> theirs = opencv(picture, 20);
      corners += theirs.size();
      ASSERT_EQ(ours(picture, 20), theirs) << w << "x" << h;
    }
  }
  EXPECT_GT(corners, 1'000u);
}

TEST_P(Fast, EqualsOpenCvOnRandomPicturesAndThresholds) {
  std::mt19937 random(4);
  std::size_t corners = 0;
  for (int round = 0; round < 200; ++round) {
    const int w = 20 + static_cast<int>(random() % 200), h = 20 + static_cast<int>(random() % 60);
    const unsigned seed = random();
    cv::Mat picture = round % 3 == 0   ? test::noise(w, h, seed)
                      : round % 3 == 1 ? test::smooth_noise(w, h, 4, seed)
                                       : test::drawn_faces(w + 60, h + 60, seed);
    if (round % 5 == 0) picture = picture / 64 * 64;  // many scores alike
    const int threshold = round % 7 == 0 ? static_cast<int>(random() % 256) : 10 + round % 20;
    const std::vector<Corner> theirs = opencv(picture, threshold);
    corners += theirs.size();
    ASSERT_EQ(ours(picture, threshold), theirs) << picture.size() << ", " << threshold;
  }
  EXPECT_GT(corners, 20'000u);
}

TEST_P(Fast, EqualsOpenCvOnExtremes) {
  cv::Mat dots(70, 150, CV_8U, cv::Scalar(0)), checker(64, 130, CV_8U);
  for (int y = 5; y < 70; y += 9) {
    for (int x = 5; x < 150; x += 9) dots.at<std::uint8_t>(y, x) = 255;
  }
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 130; ++x) checker.at<std::uint8_t>(y, x) = (x / 4 + y / 4) % 2 ? 255 : 0;
  }
  const cv::Mat inverse = 255 - dots;
  for (const cv::Mat& picture :
       {dots, inverse, checker, cv::Mat(33, 147, CV_8U, cv::Scalar(255)), test::noise(1, 300, 5),
        test::noise(300, 1, 6), test::noise(7, 7, 7)}) {
    for (const int threshold : {0, 1, 20, 253, 254, 255})
      EXPECT_EQ(ours(picture, threshold), opencv(picture, threshold)) << threshold;
  }
  EXPECT_EQ(ours(dots, 254).size(), opencv(dots, 20).size());
}

TEST_P(Fast, EqualsOpenCvOnNaturalPictures) {
  CUFACE_NEEDS_DATA();
  std::size_t corners = 0;
  for (const char* name : {"scenes/astronaut.png", "scenes/multi_face.jpg", "dlib/2007_007763.jpg",
                           "dlib/2009_004587.jpg", "helen/296814969_3_0.jpg"}) {
    const cv::Mat picture = test::natural(name, 1300);
    ASSERT_FALSE(picture.empty()) << name;
    for (const int threshold : {5, 20, 60}) {
      const std::vector<Corner> theirs = opencv(picture, threshold);
      corners += theirs.size();
      EXPECT_EQ(ours(picture, threshold), theirs) << name;
    }
  }
  EXPECT_GT(corners, 20'000u);
}

TEST_P(Fast, APartHasTheWholePicturesCorners) {
  const cv::Mat big = test::noise(240, 90, 8);
  const cv::Mat picture = big.colRange(7, 200);  // rows with a pitch
  const std::vector<Corner> all = ours(picture, 15);
  std::mt19937 random(5);
  std::size_t corners = 0;
  for (int round = 0; round < 100; ++round) {
    const auto at = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const Rect part{at(193) - 5, at(90) - 5, at(210), at(90)};
    std::vector<Corner> inside = all;
    std::erase_if(inside, [&](const Corner& c) {
      return c.x < part.x || c.y < part.y || c.x >= part.x + part.w || c.y >= part.y + part.h;
    });
    corners += inside.size();
    EXPECT_LE(inside.size(), most_corners(part.w, part.h));
    ASSERT_EQ(ours(picture, 15, part), inside)
        << part.x << "," << part.y << " " << part.w << "x" << part.h;
  }
  EXPECT_GT(corners, 1'000u);
}

TEST_P(Fast, StopsWhenItIsTold) {
  const cv::Mat picture = test::noise(64, 64, 1);
  Result<FastDetector> detector = FastDetector::create(64, 64);
  StopFlag stop;
  stop.raise();
  std::vector<Corner> corners;
  EXPECT_EQ(detector.value().run(test::view_of(picture), 20, {0, 0, 64, 64}, corners, &stop).code(),
            StatusCode::kCancelled);
}

TEST(FastSettings, ThatMakeNoSenseAreRefused) {
  EXPECT_EQ(FastDetector::create(0, 5).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(FastDetector::create(5, kMostFastSide + 1).status().code(),
            StatusCode::kInvalidArgument);
  Result<FastDetector> detector = FastDetector::create(64, 64);
  const cv::Mat picture = test::noise(64, 64, 1), larger = test::noise(65, 64, 1);
  std::vector<Corner> corners;
  const auto code = [&](const cv::Mat& grey, int threshold) {
    return detector.value().run(test::view_of(grey), threshold, {0, 0, 64, 64}, corners).code();
  };
  EXPECT_EQ(code(picture, 20), StatusCode::kOk);
  EXPECT_EQ(code(picture, -1), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(picture, 256), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(larger, 20), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
