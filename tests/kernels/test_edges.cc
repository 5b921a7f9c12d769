// Edges against cv::Canny and cv::GaussianBlur, every byte, and the published thinning and linking
// against a program in doubles that stands here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <opencv2/imgproc.hpp>
#include <random>
#include <string>
#include <vector>

#include "kernels/edges/edges.h"
#include "kernels/edges/reference.h"
#include "tests/kernels/edge_maps.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/versions.h"
#include "tests/published_edges.h"

namespace cuface {
namespace {

using namespace test::edges;

EdgeConfig random_config(std::mt19937& random) {
  EdgeConfig c;
  const int sizes[] = {1, 1, 3, 5, 9};
  c.kernel_size = sizes[random() % 5];
  c.sigma = random() % 2 ? 0 : 0.3 + static_cast<double>(random() % 300) / 100;
  c.op = static_cast<GradientOperator>(random() % 3);
  c.aperture = c.op == GradientOperator::kSobel ? 3 + 2 * static_cast<int>(random() % 3) : 3;
  c.norm = static_cast<GradientNorm>(random() % 2);
  const double most = c.aperture == 3 ? 900 : c.aperture == 5 ? 12'000 : 80'000;
  c.low = static_cast<double>(random() % 1000) / 1000 * most;
  c.high = static_cast<double>(random() % 1000) / 1000 * most;
  if (random() % 16 == 0) c.low = 0;
  if (random() % 16 == 0) c.high = random() % 2 ? 0 : 1e7;
  return c;
}

class Edges : public test::EveryVersion {};
CUFACE_EVERY_VERSION(Edges);

TEST_P(Edges, EqualCannyOnEverySmallSize) {
  std::mt19937 random(3);
  for (int h = 1; h <= 10; ++h) {
    for (int w = 1; w <= 70; ++w) {
      const cv::Mat picture = test::noise(w, h, w * 100u + h);
      const EdgeConfig c = random_config(random);
      EXPECT_EQ(cv::countNonZero(ours(picture, c).map != opencv(picture, c)), 0)
          << w << "x" << h << ", " << described(c);
    }
  }
}

TEST_P(Edges, EqualCannyOnRandomPicturesAndSettings) {
  std::mt19937 random(4);
  int edges = 0;
  for (int round = 0; round < 300; ++round) {
    const int w = 20 + static_cast<int>(random() % 200), h = 20 + static_cast<int>(random() % 60);
    const unsigned seed = random();
    const cv::Mat picture = round % 3 == 0   ? test::noise(w, h, seed)
                            : round % 3 == 1 ? test::smooth_noise(w, h, 6, seed)
                                             : test::drawn_faces(w + 60, h + 60, seed);
    const EdgeConfig c = random_config(random);
    const cv::Mat theirs = opencv(picture, c);
    edges += cv::countNonZero(theirs);
    ASSERT_EQ(cv::countNonZero(ours(picture, c).map != theirs), 0) << described(c);
  }
  EXPECT_GT(edges, 100'000);
}

TEST_P(Edges, EqualCannyOnExtremes) {
  cv::Mat checker(64, 65, CV_8U), stripes(50, 71, CV_8U), spiral(97, 97, CV_8U, cv::Scalar(0));
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 65; ++x) checker.at<std::uint8_t>(y, x) = (x / 2 + y / 2) % 2 ? 255 : 0;
  }
  for (int y = 0; y < 50; ++y) {
    for (int x = 0; x < 71; ++x) stripes.at<std::uint8_t>(y, x) = (x + y) % 8 < 4 ? 255 : 0;
  }
  for (int side = 96; side > 8; side -= 8)
    cv::rectangle(spiral, cv::Rect((96 - side) / 2, (96 - side) / 2, side, side), side * 2);
  for (const cv::Mat& picture :
       {checker, stripes, spiral, cv::Mat(33, 47, CV_8U, cv::Scalar(255)),
        cv::Mat(1, 400, CV_8U, cv::Scalar(9)), test::noise(1, 300, 5), test::noise(300, 1, 6)}) {
    for (const int aperture : {3, 5, 7}) {
      for (const GradientNorm norm : {GradientNorm::kL1, GradientNorm::kL2}) {
        for (const double low : {0.0, 50.0, 40'000.0}) {
          EdgeConfig c;
          c.kernel_size = 1;
          c.aperture = aperture;
          c.norm = norm;
          c.low = low;
          EXPECT_EQ(cv::countNonZero(ours(picture, c).map != opencv(picture, c)), 0)
              << picture.cols << "x" << picture.rows << ", " << described(c);
        }
      }
    }
  }
}

// All pictures of the test data: each with three of the twelve settings.
TEST_P(Edges, EqualCannyOnNaturalPictures) {
  CUFACE_NEEDS_DATA();
  const std::string folder = test::data_dir() + "/images/";
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".jpg" || entry.path().extension() == ".png")
      names.push_back(std::filesystem::relative(entry.path(), folder));
  std::ranges::sort(names);
  std::vector<EdgeConfig> settings;
  for (const int aperture : {3, 5, 7}) {
    for (const GradientNorm norm : {GradientNorm::kL1, GradientNorm::kL2}) {
      for (const int size : {1, 5}) {
        EdgeConfig c;
        c.kernel_size = size;
        c.aperture = aperture;
        c.norm = norm;
        const double scale = aperture == 3 ? 1 : aperture == 5 ? 12 : 160;
        c.low *= scale;
        c.high *= scale;
        settings.push_back(c);
      }
    }
  }
  std::size_t next = 0;
  long edges = 0;
  for (const std::string& name : names) {
    const cv::Mat picture = test::natural(name, 700);
    ASSERT_FALSE(picture.empty()) << name;
    for (int i = 0; i < 3; ++i, next += 5) {
      const EdgeConfig& c = settings[next % settings.size()];
      const cv::Mat theirs = opencv(picture, c);
      edges += cv::countNonZero(theirs);
      EXPECT_EQ(cv::countNonZero(ours(picture, c).map != theirs), 0) << name << described(c);
    }
  }
  EXPECT_GT(names.size(), 100u);
  EXPECT_GT(edges, 3'000'000);
}

/// The published thinning and linking in doubles. As printed, an angle of exactly pi is in no
/// sector.
cv::Mat published(const Gradients& g, const EdgeConfig& c, bool as_printed) {
  const int w = g.dx.cols, h = g.dx.rows;
  const auto gx = [&](int x, int y) { return double{g.dx.ptr<std::int16_t>(y)[x] * 1.0}; };
  const auto gy = [&](int x, int y) { return double{g.dy.ptr<std::int16_t>(y)[x] * 1.0}; };
  const auto size = [&](int x, int y) {
    return x < 0 || y < 0 || x >= w || y >= h ? 0 : std::hypot(gx(x, y), gy(x, y));
  };
  cv::Mat out(h, w, CV_8U, cv::Scalar(0));
  for (int y = 0; y < h; ++y) {
    for (int x = 0; x < w; ++x) {
      if (size(x, y) <= c.high) continue;
      const double theta = std::atan2(gy(x, y), gx(x, y)) / M_PI * 180;
      const double turned = std::fmod(theta + 180, 180);  // the same sector half a turn on
      if (as_printed && theta == 180) continue;
      const int i = turned > 60 && turned < 120 ? 0 : 1;
      const int j = turned < 30 || turned > 150 ? 0 : turned > 90 && i ? -1 : 1;
      if (size(x, y) <= size(x + i, y + j) || size(x, y) <= size(x - i, y - j)) continue;
      for (int v = std::max(0, y - c.apron); v <= std::min(h - 1, y + c.apron); ++v) {
        for (int u = std::max(0, x - c.apron); u <= std::min(w - 1, x + c.apron); ++u) {
          if (size(u, v) > c.low || (u == x && v == y)) out.at<std::uint8_t>(v, u) = 255;
        }
      }
    }
  }
  return out;
}

TEST_P(Edges, SectorsAndApronAreThePublishedOnes) {
  int edges = 0, printed_otherwise = 0;
  for (int round = 0; round < 40; ++round) {
    const cv::Mat picture =
        round % 2 ? test::drawn_faces(170, 130, round) : test::smooth_noise(150, 110, 5, round);
    EdgeConfig c = test::published_edges();
    c.apron = round % 4;
    const Gradients g = gradients(picture, c);
    const cv::Mat theirs = published(g, c, false);
    edges += cv::countNonZero(theirs);
    printed_otherwise += cv::countNonZero(theirs != published(g, c, true));
    ASSERT_EQ(cv::countNonZero(ours(picture, c).map != theirs), 0) << "apron " << c.apron;
  }
  EXPECT_GT(edges, 20'000);
  EXPECT_GT(printed_otherwise, 0);
  std::printf("as printed, %d of %d edge pixels differ\n", printed_otherwise, edges);
  RecordProperty("printed_otherwise", printed_otherwise);
}

TEST_P(Edges, AStepHasItsContrastWhateverTheOperator) {
  cv::Mat picture(40, 60, CV_8U, cv::Scalar(30));
  picture.colRange(25, 60).setTo(130);
  for (const auto& [op, aperture] : {std::pair{GradientOperator::kSobel, 3},
                                     {GradientOperator::kSobel, 5},
                                     {GradientOperator::kSobel, 7},
                                     {GradientOperator::kScharr, 3},
                                     {GradientOperator::kPrewitt, 3}}) {
    for (const GradientNorm norm : {GradientNorm::kL1, GradientNorm::kL2}) {
      EdgeConfig c;
      c.kernel_size = 1;
      c.op = op;
      c.aperture = aperture;
      c.norm = norm;
      double most = 0;
      cv::minMaxLoc(ours(picture, c).magnitude, nullptr, &most);
      EXPECT_EQ(most, 100) << described(c);
    }
  }
}

TEST_P(Edges, MagnitudesAndAnglesAreThoseOfOpenCvsGradients) {
  std::mt19937 random(9);
  int compared = 0;
  for (int round = 0; round < 60; ++round) {
    const cv::Mat picture = test::smooth_noise(131, 67, 1 + round % 7, round);
    const EdgeConfig c = random_config(random);
    const Gradients g = gradients(picture, c);
    const int gain = c.op == GradientOperator::kScharr    ? 16
                     : c.op == GradientOperator::kPrewitt ? 3
                     : c.aperture == 3                    ? 4
                     : c.aperture == 5                    ? 48
                                                          : 40;
    const Maps maps = ours(picture, c);
    for (int y = 0; y < picture.rows; ++y) {
      for (int x = 0; x < picture.cols; ++x, ++compared) {
        const int dx = g.dx.at<std::int16_t>(y, x), dy = g.dy.at<std::int16_t>(y, x);
        const int length = c.norm == GradientNorm::kL2
                               ? static_cast<int>(std::sqrt(static_cast<double>(dx * dx + dy * dy)))
                               : std::abs(dx) + std::abs(dy);
        ASSERT_EQ(maps.magnitude.at<std::uint8_t>(y, x), std::min(255, length / gain));
        const long step = std::lround(std::atan2(dy, dx) * 128 / M_PI);
        ASSERT_EQ(maps.angle.at<std::uint8_t>(y, x), step & 255) << dx << "," << dy;
      }
    }
  }
  EXPECT_GT(compared, 500'000);
}

TEST(EdgeContrast, IsTheQuotientForEveryGradient) {
  EdgeRules rules;
  for (rules.gain = 1; rules.gain <= 256; ++rules.gain) {
    for (int n = 0; n <= 260 * rules.gain; ++n)
      ASSERT_EQ(contrast(n, rules), std::min(255, n / rules.gain)) << n << " / " << rules.gain;
  }
}

TEST(EdgeAngle, IsArcTangentsForEveryGradient) {
  int compared = 0;
  const auto check = [&](int dx, int dy) {
    ++compared;
    return angle_step(dx, dy, edges::kOctave) ==
           (std::lround(std::atan2(dy, dx) * 128 / M_PI) & 255);
  };
  for (int dy = -1020; dy <= 1020; dy += 3) {
    for (int dx = -1020; dx <= 1020; ++dx) ASSERT_TRUE(check(dx, dy)) << dx << "," << dy;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 1'000'000; ++i) {
    const int dx = static_cast<int>(random() % 24'481) - 12'240;
    const int dy = static_cast<int>(random() % 24'481) - 12'240;
    ASSERT_TRUE(check(dx, dy)) << dx << "," << dy;
  }
  EXPECT_GT(compared, 2'000'000);
}

TEST_P(Edges, RespectThePitchAndLeaveUnwantedPicturesAlone) {
  const cv::Mat big = test::drawn_faces(200, 160, 8);
  const cv::Mat part = big(cv::Rect(13, 7, 101, 55));
  cv::Mat target(70, 150, CV_8U, cv::Scalar(77));
  cv::Mat inside = target(cv::Rect(20, 5, 101, 55));
  Result<EdgeDetector> detector = EdgeDetector::create({}, 101, 55);
  ASSERT_TRUE(detector.ok());
  ASSERT_TRUE(detector.value().run(test::view_of(part), {view_into(inside), {}, {}}).ok());
  EXPECT_EQ(cv::countNonZero(inside != opencv(part.clone(), {})), 0);
  inside.setTo(77);
  EXPECT_EQ(cv::countNonZero(target != 77), 0);
}

TEST_P(Edges, StopWhenTheyAreTold) {
  const cv::Mat picture = test::noise(64, 64, 1);
  Result<EdgeDetector> detector = EdgeDetector::create({}, 64, 64);
  ASSERT_TRUE(detector.ok());
  StopFlag stop;
  stop.raise();
  cv::Mat map(64, 64, CV_8U);
  EXPECT_EQ(detector.value().run(test::view_of(picture), {view_into(map), {}, {}}, &stop).code(),
            StatusCode::kCancelled);
}

TEST(EdgeConfigs, ThatMakeNoSenseAreRefused) {
  const auto code = [](auto change, int width = 64, int height = 64) {
    EdgeConfig c;
    change(c);
    return EdgeDetector::create(c, width, height).status().code();
  };
  const auto none = [](EdgeConfig&) {};
  EXPECT_EQ(code(none), StatusCode::kOk);
  EXPECT_EQ(code(none, 1, 1), StatusCode::kOk);
  EXPECT_EQ(code(none, 0, 1), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(none, 1, kMostEdgeSide + 1), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](EdgeConfig& c) { c.kernel_size = 4; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](EdgeConfig& c) { c.sigma = -1; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](EdgeConfig& c) { c.aperture = 4; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](EdgeConfig& c) { c.aperture = 9; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](EdgeConfig& c) {
              c.op = GradientOperator::kScharr;
              c.aperture = 5;
            }),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](EdgeConfig& c) { c.low = -1; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](EdgeConfig& c) { c.high = std::nan(""); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](EdgeConfig& c) { c.apron = kMostApron + 1; }), StatusCode::kInvalidArgument);

  Result<EdgeDetector> detector = EdgeDetector::create({}, 64, 64);
  cv::Mat map(64, 64, CV_8U), other(63, 64, CV_8U);
  EXPECT_EQ(detector.value().run(test::view_of(other), {view_into(map), {}, {}}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(detector.value().run(test::view_of(map), {{}, view_into(other), {}}).code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
