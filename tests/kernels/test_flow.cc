// flow against cv::calcOpticalFlowPyrLK on made-up motion, and every version against the plain one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/clip.h"
#include "tests/data.h"
#include "tests/fewer.h"
#include "tests/kernels/flow_comparison.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

using test::FlowComparison;
using test::opencv_flow;
using test::our_flow;
using test::TrackedPoints;

/// Smooth texture at any real position: a sum of a few waves.
double texture(double x, double y) {
  return 128 + 40 * std::sin(0.21 * x + 0.13 * y) + 35 * std::sin(0.11 * x - 0.27 * y + 1) +
         25 * std::sin(0.43 * x + 0.05 * y + 2) + 20 * std::sin(0.07 * x + 0.39 * y + 3);
}

cv::Mat textured(int width, int height, double shift_x, double shift_y) {
  cv::Mat m(height, width, CV_8U);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      m.at<std::uint8_t>(y, x) = cv::saturate_cast<std::uint8_t>(texture(x - shift_x, y - shift_y));
    }
  }
  return m;
}

std::vector<Point> random_points(int count, float lo_x, float hi_x, float lo_y, float hi_y) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> x(lo_x, hi_x), y(lo_y, hi_y);
  std::vector<Point> points;
  for (int i = 0; i < count; ++i) points.push_back({x(random), y(random)});
  return points;
}

TEST(Flow, FindsAKnownShift) {
  const cv::Mat a = textured(320, 240, 0, 0);
  for (const Point shift : {Point{0, 0}, Point{0.25f, -0.5f}, Point{3.3f, 2.7f}, Point{-9, 6.5f}}) {
    const cv::Mat b = textured(320, 240, shift.x, shift.y);
    const std::vector<Point> points = random_points(200, 40, 280, 40, 200);
    const TrackedPoints t = our_flow(a, b, points, {});
    for (std::size_t i = 0; i < points.size(); ++i) {
      ASSERT_EQ(t.status[i], 1);
      EXPECT_NEAR(t.points[i].x - points[i].x, shift.x, 0.06);
      EXPECT_NEAR(t.points[i].y - points[i].y, shift.y, 0.06);
    }
  }
}

TEST(Flow, EqualsOpenCvAtAndBeyondTheBorder) {
  for (int window : {5, 9, 21, 31, 63}) {
    for (int levels : {1, 3}) {
      FlowComparison c;
      for (const auto& size : {cv::Size(200, 150), cv::Size(64, 300), cv::Size(37, 41)}) {
        const cv::Mat a = textured(size.width, size.height, 0, 0);
        const cv::Mat b = textured(size.width, size.height, 1.7, -1.2);
        const auto w = static_cast<float>(size.width), h = static_cast<float>(size.height);
        const std::vector<Point> points = random_points(1500, -80, w + 80, -80, h + 80);
        FlowConfig config;
        config.window = window;
        config.levels = levels;
        c.add(our_flow(a, b, points, config), opencv_flow(a, b, points, config));
      }
      c.expect_equal("window " + std::to_string(window) + " levels " + std::to_string(levels));
      EXPECT_GT(c.lost, 500u);
      EXPECT_GT(c.distances.size(), 500u);
    }
  }
}

TEST(Flow, EqualsOpenCvOnPicturesSmallerThanTheWindow) {
  FlowComparison c;
  for (const auto& size : {cv::Size(1, 1), cv::Size(2, 9), cv::Size(9, 1), cv::Size(12, 15)}) {
    const cv::Mat a = textured(size.width, size.height, 0, 0);
    const cv::Mat b = textured(size.width, size.height, 0.3, 0.2);
    const std::vector<Point> points = random_points(400, -30, 40, -30, 40);
    c.add(our_flow(a, b, points, {}), opencv_flow(a, b, points, {}));
  }
  EXPECT_GE(static_cast<double>(c.same_status), 0.995 * static_cast<double>(c.points));
}

TEST(Flow, FlatPicturesAndBadPointsFail) {
  const cv::Mat flat(120, 160, CV_8U, cv::Scalar(77));
  const cv::Mat a = textured(160, 120, 0, 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (std::uint8_t s : our_flow(flat, flat, random_points(50, 0, 160, 0, 120), {}).status) {
    EXPECT_EQ(s, 0);
  }
  const std::vector<Point> bad = {{nan, 50},  {50, nan},   {inf, 50},
                                  {50, -inf}, {1e30f, 50}, {50, -1e9f}};
  for (std::uint8_t s : our_flow(a, a, bad, {}).status) EXPECT_EQ(s, 0);
}

class FlowVersions : public test::EveryVersion {
 protected:
  /// Points whose place or status is not what the plain reference says of whole pyramids.
  std::size_t differences(const cv::Mat& a, const cv::Mat& b, const std::vector<Point>& points,
                          const FlowConfig& config) {
    const TrackedPoints vectors = our_flow(a, b, points, config);
    const TrackedPoints plain = test::plainly([&] { return our_flow(a, b, points, config, true); });
    std::size_t count = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Point p = vectors.points[i], q = plain.points[i];
      const bool nan = (std::isnan(p.x) && std::isnan(q.x)) || (std::isnan(p.y) && std::isnan(q.y));
      const bool same = nan || std::memcmp(&p, &q, sizeof p) == 0;
      count += !same || vectors.status[i] != plain.status[i];
    }
    compared_ += points.size();
    return count;
  }
  std::size_t compared_ = 0;
};
CUFACE_EVERY_VERSION(FlowVersions);

TEST_P(FlowVersions, EveryWindowOnSmoothNoisyAndExtremePictures) {
  cv::Mat checker(150, 200, CV_8U);
  for (int y = 0; y < checker.rows; ++y) {
    for (int x = 0; x < checker.cols; ++x)
      checker.at<std::uint8_t>(y, x) = (x / 3 + y / 3) % 2 ? 255 : 0;
  }
  const std::pair<cv::Mat, cv::Mat> pairs[] = {
      {textured(200, 150, 0, 0), textured(200, 150, 1.7, -1.2)},
      {test::noise(160, 120, 1), test::noise(160, 120, 2)},
      {test::smooth_noise(123, 97, 7, 3), test::smooth_noise(123, 97, 7, 3)},
      {checker, 255 - checker},
      {textured(37, 41, 0, 0), textured(37, 41, 2, 1)},
      {test::noise(9, 1, 3), test::noise(9, 1, 4)},
      {test::noise(1, 1, 3), test::noise(1, 1, 4)},
      {cv::Mat(50, 60, CV_8U, cv::Scalar(255)), cv::Mat(50, 60, CV_8U, cv::Scalar(255))}};
  test::Turn turn;
  for (int window = 5; window <= 63; window += 2) {
    FlowConfig config;
    config.window = window;
    config.min_eigen = 0;
    for (const auto& [a, b] : pairs) {
      if (!turn()) continue;
      const auto w = static_cast<float>(a.cols), h = static_cast<float>(a.rows);
      EXPECT_EQ(differences(a, b, random_points(40, -40, w + 40, -40, h + 40), config), 0u)
          << "window " << window << ", picture " << a.cols << "x" << a.rows;
      EXPECT_EQ(differences(a, b, random_points(20, w / 3, w * 2 / 3, h / 3, h * 2 / 3), config),
                0u)
          << "window " << window << ", inside picture " << a.cols << "x" << a.rows;
    }
  }
  EXPECT_EQ(compared_, test::Turn::of(30 * std::size(pairs)) * 60);
}

TEST_P(FlowVersions, ConsecutiveFramesOfAClip) {
  CUFACE_NEEDS_DATA();
  const auto frames =
      test::read_clip(test::data_dir() + "/videos/WolfgangLanger_Pexels.mp4", 640, 360, 12);
  ASSERT_GE(frames.size(), 12u);
  test::Turn turn;
  for (std::size_t f = 0; f + 1 < frames.size(); f += 2) {
    for (const int window : {9, 21, 31}) {
      if (!turn()) continue;
      FlowConfig config;
      config.window = window;
      const std::vector<Point> points = random_points(400, -20, 660, -20, 380);
      EXPECT_EQ(differences(frames[f], frames[f + 1], points, config), 0u) << "frame " << f;
    }
  }
  EXPECT_EQ(compared_, test::Turn::of(6 * 3) * 400);
}

TEST(Flow, StepEdgesAreNotFollowed) {
  cv::Mat edge(120, 160, CV_8U, cv::Scalar(20));
  edge.colRange(80, 160).setTo(220);
  const std::vector<Point> points = {{80, 60}, {79.5f, 50.25f}};
  const TrackedPoints t = our_flow(edge, edge, points, {});
  EXPECT_EQ(t.status, opencv_flow(edge, edge, points, {}).status);
  EXPECT_EQ(t.status[0], 0);
}

TEST(Flow, ExtremeContrastDoesNotOverflow) {
  std::mt19937 random(9);
  FlowComparison c;
  for (int window : {21, 63}) {
    cv::Mat a(200, 260, CV_8U), b;
    for (int y = 0; y < a.rows; ++y) {
      for (int x = 0; x < a.cols; ++x) {
        a.at<std::uint8_t>(y, x) = (x / 3 + y / 3) % 2 ? 255 : 0;
        if (random() % 16 == 0) a.at<std::uint8_t>(y, x) ^= 255;
      }
    }
    b = 255 - a;
    FlowConfig config;
    config.window = window;
    const std::vector<Point> points = random_points(300, 0, 260, 0, 200);
    c.add(our_flow(a, b, points, config), opencv_flow(a, b, points, config));
    // Not moved at all: the same place.
    const TrackedPoints still = our_flow(a, a, points, config);
    for (std::size_t i = 0; i < points.size(); ++i) {
      ASSERT_EQ(still.status[i], 1);
      EXPECT_NEAR(still.points[i].x, points[i].x, 1e-3);
      EXPECT_NEAR(still.points[i].y, points[i].y, 1e-3);
    }
  }
  EXPECT_GE(static_cast<double>(c.same_status), 0.98 * static_cast<double>(c.points));
}

TEST(Flow, PointsDoNotInfluenceEachOther) {
  const cv::Mat a = textured(200, 150, 0, 0), b = textured(200, 150, 2.2, 1.1);
  const std::vector<Point> points = random_points(60, -10, 210, -10, 160);
  const TrackedPoints together = our_flow(a, b, points, {});
  for (std::size_t i = 0; i < points.size(); ++i) {
    const TrackedPoints alone = our_flow(a, b, {points[i]}, {});
    EXPECT_EQ(std::memcmp(&alone.points[0], &together.points[i], sizeof(Point)), 0);
    EXPECT_EQ(alone.status[0], together.status[i]);
  }
}

TEST(Flow, ConfigsOutOfRangeAreRefused) {
  EXPECT_TRUE(validate(FlowConfig{}).ok());
  for (int window : {-1, 0, 3, 20, 65}) {
    FlowConfig c;
    c.window = window;
    EXPECT_EQ(validate(c).code(), StatusCode::kInvalidArgument) << window;
  }
  FlowConfig c;
  c.levels = 0;
  EXPECT_FALSE(validate(c).ok());
  c = {};
  c.max_iterations = 0;
  EXPECT_FALSE(validate(c).ok());
  c = {};
  c.epsilon = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(validate(c).ok());
  c = {};
  c.min_eigen = -1;
  EXPECT_FALSE(validate(c).ok());
}

}  // namespace
}  // namespace cuface
