// The methods of motion against OpenCV's dilation and box filter, every version against the plain
// reference, light and cuts. The mixture's independent twin is test_motion_twin.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/common/bits.h"
#include "kernels/motion/motion.h"
#include "kernels/motion/staying.h"
#include "tests/kernels/allocations.h"
#include "tests/kernels/motion_videos.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

using namespace test;

/// A video of a kind of picture.
using Video = std::function<cv::Mat(int width, int height, int number)>;

const std::vector<std::pair<std::string, Video>>& videos() {
  static const std::vector<std::pair<std::string, Video>> all = {
      {"noise", [](int w, int h, int i) { return test::noise(w, h, static_cast<unsigned>(i)); }},
      {"sparse", [](int w, int h, int i) { return specks(w, h, 4, static_cast<unsigned>(i)); }},
      {"dense", [](int w, int h, int i) { return specks(w, h, 97, static_cast<unsigned>(i)); }},
      {"flashing",
       [](int w, int h, int i) { return cv::Mat(h, w, CV_8U, cv::Scalar(i % 3 == 1 ? 255 : 0)); }},
      {"an object over a ground",
       [](int w, int h, int i) {
         cv::Mat out = test::smooth_noise(w, h, 5, 3) / 2 +
                       test::noise(w, h, 90u + static_cast<unsigned>(i)) / 40;
         cv::circle(out, {i * w / 16, h / 2}, std::max(1, h / 4), cv::Scalar(230), cv::FILLED);
         return i > 11 ? cv::Mat(out / 2 + 90) : out;  // light is switched
       }},
  };
  return all;
}

class MotionOfEveryVersion : public test::EveryVersion {};
CUFACE_EVERY_VERSION(MotionOfEveryVersion);
class MotionByVectors : public test::EveryVersion {};
CUFACE_EVERY_VECTOR_VERSION(MotionByVectors);

// Above 63 a reach takes several passes over a row, and no version has code of its own for that.
TEST(Staying, EqualsOpenCvsDilation) {
  for (const auto& [width, height, reach] :
       {std::tuple(2600, 3, 96), {200, 9, 63}, {1300, 4, 64}, {65, 3, 1}, {1, 1, 130}}) {
    const cv::Mat before =
                      specks(width, height, reach > 1 ? 1 : 50, 1) & specks(width, height, 20, 2),
                  now = specks(width, height, 30, 3);
    cv::Mat near;
    cv::dilate(before, near, cv::Mat::ones(2 * reach + 1, 2 * reach + 1, CV_8U), {-1, -1}, 1,
               cv::BORDER_CONSTANT, cv::Scalar(0));
    const cv::Mat expected = now & near;
    motion::BitImage then(width, height), moved(width, height), stayed(width, height);
    for (int y = 0; y < height; ++y) {
      pack_row(before.ptr(y), width, then.view().row(y));
      pack_row(now.ptr(y), width, moved.view().row(y));
    }
    motion::Staying staying(width, height, reach);
    staying.prepare(std::as_const(then).view());
    staying.keep(std::as_const(moved).view(), stayed.view());
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        ASSERT_EQ(bit_at(std::as_const(stayed).view(), x, y), expected.at<std::uint8_t>(y, x) != 0)
            << width << "x" << height << ", " << reach << ": " << x << ", " << y;
    if (width > 1) {
      EXPECT_GT(cv::countNonZero(expected), 0) << reach;
      EXPECT_LT(cv::countNonZero(expected), cv::countNonZero(now)) << reach;
    }
  }
}

// By cv::dilate both ways: an edge has come that no former one is near, or gone.
TEST_P(MotionOfEveryVersion, EdgesEqualOpenCv) {
  long compared = 0;
  for (const auto& [width, height] : {std::pair(1, 1), {3, 2}, {64, 5}, {65, 40}, {200, 97}}) {
    for (const int tolerance : {1, 2, 5, 12, 70, 255}) {
      for (const int percent : {1, 20, 95}) {
        const cv::Mat then = specks(width, height, percent, 1),
                      now = specks(width, height, percent, 2);
        const cv::Mat box = cv::Mat::ones(2 * tolerance + 1, 2 * tolerance + 1, CV_8U);
        const auto near = [&](const cv::Mat& map) {
          cv::Mat out;
          cv::dilate(map, out, box, {-1, -1}, 1, cv::BORDER_CONSTANT, cv::Scalar(0));
          return out;
        };
        cv::Mat solid;
        cv::erode(then, solid, box, {-1, -1}, 1, cv::BORDER_CONSTANT, cv::Scalar(255));
        for (const bool symmetric : {true, false}) {
          MotionConfig config = with(MotionMethod::kEdges);
          config.tolerance = tolerance;
          config.symmetric = symmetric;
          config.columns = config.rows = 1;
          config.find_global_changes = false;
          MotionDetector motion = made(config, width, height);
          look(motion, then, 0);
          const MotionResult result = look(motion, now, kFrame);
          const cv::Mat expected =
              (now & ~near(then)) | (then & ~now & (symmetric ? cv::Mat(~near(now)) : solid));
          ASSERT_EQ(unlike(mask_of(motion), expected), 0)
              << width << "x" << height << " tolerance " << tolerance << " " << percent << " %";
          ASSERT_EQ(result.changed, static_cast<unsigned>(cv::countNonZero(expected)));
          compared += expected.total();
        }
      }
    }
  }
  EXPECT_GT(compared, 500'000);
}

TEST_P(MotionOfEveryVersion, DifferencesEqualOpenCv) {
  for (const auto& [width, height] : {std::pair(1, 1), {6, 3}, {63, 64}, {131, 70}, {320, 33}}) {
    MotionConfig config = with(MotionMethod::kDifference);
    config.columns = config.rows = 1;
    MotionDetector motion = made(config, width, height);
    cv::Mat then;
    for (int i = 0; i < 8; ++i) {
      const cv::Mat now = test::smooth_noise(width, height, 1 + i / 2, static_cast<unsigned>(i));
      look(motion, now, i * kFrame);
      if (i > 0) {
        cv::Mat apart, sum;
        cv::absdiff(now, then, apart);
        cv::boxFilter((apart > 15) / 255, sum, CV_32F, {7, 7}, {-1, -1}, false,
                      cv::BORDER_CONSTANT);
        ASSERT_EQ(unlike(mask_of(motion), sum > 21.5), 0) << width << "x" << height << " " << i;
      }
      then = now;
    }
  }
}

/// Results and masks of a video, one after the other.
std::vector<std::uint8_t> all_of(const MotionConfig& config, const Video& video, int width,
                                 int height, int frames) {
  MotionDetector motion = made(config, width, height);
  std::vector<std::uint8_t> out;
  for (int i = 0; i < frames; ++i) {
    const MotionResult result = look(motion, video(width, height, i), i * kFrame);
    const cv::Mat mask = mask_of(motion);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&result);
    out.insert(out.end(), bytes, bytes + sizeof(result));
    out.insert(out.end(), mask.datastart, mask.dataend);
  }
  return out;
}

TEST_P(MotionOfEveryVersion, BitMapsOfEdgesAreAsGoodAsBytes) {
  MotionConfig config = with(MotionMethod::kEdges, 2 * kFrame);
  config.tolerance = 2;
  MotionDetector by_bytes = made(config, 131, 70), by_bits = made(config, 131, 70);
  long changed = 0;
  for (int i = 0; i < 60; ++i) {
    const cv::Mat edges = specks(131, 70, 4, static_cast<unsigned>(i));
    Image<std::uint64_t> bits(words_of(131), 70);
    for (int y = 0; y < 70; ++y) pack_row(edges.ptr(y), 131, bits.view().row(y));
    const MotionResult expected = look(by_bytes, edges, i * kFrame);
    const auto got = by_bits.look(std::as_const(bits).view(), i * kFrame);
    ASSERT_TRUE(got.ok()) << got.status().message();
    ASSERT_EQ(std::memcmp(got.value(), &expected, sizeof(expected)), 0) << i;
    ASSERT_EQ(unlike(mask_of(by_bits), mask_of(by_bytes)), 0) << i;
    changed += expected.changed;
  }
  EXPECT_GT(changed, 10'000);

  const Image<std::uint64_t> bits(words_of(131), 70), other(words_of(131) + 1, 70);
  const auto code = [](MotionDetector& motion, const Image<std::uint64_t>& map) {
    return motion.look(map.view(), 0).status().code();
  };
  MotionDetector background = made(with(MotionMethod::kBackground), 131, 70);
  EXPECT_EQ(code(background, bits), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(by_bits, other), StatusCode::kInvalidArgument);
}

// Each version of each method beside the plain one, on sizes around those of vectors and words, and
// around twice those: a background has half the picture.
TEST_P(MotionByVectors, EqualsThePlainReference) {
  long compared = 0;
  const std::vector<std::pair<int, int>> sizes = {{1, 1},   {1, 9},   {2, 2},   {7, 1},    {15, 16},
                                                  {16, 15}, {31, 9},  {32, 8},  {33, 7},   {63, 5},
                                                  {64, 20}, {65, 13}, {127, 6}, {160, 90}, {30, 6},
                                                  {62, 5},  {125, 6}, {129, 6}, {257, 5}};
  for (const MotionMethod method :
       {MotionMethod::kEdges, MotionMethod::kDifference, MotionMethod::kBackground}) {
    for (const auto& [width, height] : sizes) {
      MotionConfig config = with(method, 2 * kFrame);
      config.columns = std::min(10, width);
      config.rows = std::min(6, height);
      config.symmetric = width % 2 == 0;
      for (const auto& [name, video] : videos()) {
        const int frames = method == MotionMethod::kBackground ? 70 : 14;
        const auto got = all_of(config, video, width, height, frames);
        const auto expected =
            test::plainly([&] { return all_of(config, video, width, height, frames); });
        ASSERT_TRUE(got == expected)
            << name << " " << width << "x" << height << " method " << static_cast<int>(method);
        compared += frames;
      }
    }
  }
  EXPECT_GE(compared, 8000);
}

TEST_P(MotionByVectors, EqualsThePlainReferenceOnNaturalPictures) {
  CUFACE_NEEDS_DATA();
  const cv::Mat whole = test::natural("scenes/astronaut.png", 300);
  const Video panning = [&](int width, int height, int i) {
    return whole(cv::Rect(i % 9, 2 * (i % 5), width, height)).clone();
  };
  for (const MotionMethod method : {MotionMethod::kDifference, MotionMethod::kBackground}) {
    const auto got = all_of(with(method), panning, 270, 200, 60);
    const auto expected =
        test::plainly([&] { return all_of(with(method), panning, 270, 200, 60); });
    ASSERT_TRUE(got == expected) << static_cast<int>(method);
  }
}

TEST(MotionForget, NothingIsComparedAcrossAJump) {
  for (const MotionMethod method :
       {MotionMethod::kEdges, MotionMethod::kDifference, MotionMethod::kBackground}) {
    MotionDetector motion = made(with(method), 200, 120);
    for (int i = 0; i < 40; ++i) look(motion, square(30, 30), i * kFrame);
    motion.forget();
    const MotionResult result = look(motion, square(130, 30), 9'000 * kFrame);
    EXPECT_EQ(result.compared, 0);
    EXPECT_EQ(result.changed, 0u);
    EXPECT_EQ(cv::countNonZero(mask_of(motion)), 0);
    EXPECT_EQ(look(motion, square(130, 30), 9'001 * kFrame).moving_cells, 0);
  }
}

TEST(MotionGlobal, SwitchedLightIsCountedAndIsNoMotion) {
  const cv::Mat ground = test::smooth_noise(160, 120, 6, 1) / 2 + 40;
  for (const MotionMethod method : {MotionMethod::kDifference, MotionMethod::kBackground}) {
    MotionDetector motion = made(with(method), 160, 120);
    int globals = 0, moving = 0;
    for (int i = 0; i < 80; ++i) {
      const cv::Mat lit = i < 50 ? ground : cv::Mat(ground + 40);
      const MotionResult result = look(
          motion, lit + test::noise(160, 120, 500u + static_cast<unsigned>(i)) / 64, i * kFrame);
      globals += result.global_change;
      moving += result.moving_cells;
    }
    EXPECT_EQ(globals, 1) << static_cast<int>(method);
    EXPECT_EQ(moving, 0) << static_cast<int>(method);
  }
}

TEST(MotionGlobal, AnotherSceneIsLearntAnew) {
  MotionDetector motion = made(with(MotionMethod::kBackground), 160, 120);
  int globals = 0;
  for (int i = 0; i < 80; ++i) {
    const MotionResult result =
        look(motion, test::smooth_noise(160, 120, 8, i < 40 ? 1 : 2), i * kFrame);
    globals += result.global_change;
    EXPECT_EQ(result.moving_cells, 0);
  }
  EXPECT_EQ(globals, 1);
}

TEST(MotionBackground, SeesWhatStandsStillForAWhile) {
  MotionDetector motion = made(with(MotionMethod::kBackground), 200, 120);
  const cv::Mat ground = test::smooth_noise(200, 120, 8, 5) / 2 + 40;
  const auto share = [&](int i, bool there) {
    cv::Mat frame = ground.clone();
    if (there) frame(cv::Rect(80, 40, 30, 40)) = 240;
    look(motion, frame, i * kFrame);
    return cv::countNonZero(mask_of(motion)(cv::Rect(80, 40, 30, 40))) / 1200.0;
  };
  for (int i = 0; i < 60; ++i) EXPECT_EQ(share(i, false), 0);
  EXPECT_EQ(share(60, true), 0) << "it may be rain";
  for (int i = 61; i < 100; ++i) EXPECT_GT(share(i, true), 0.95) << i;
  for (int i = 100; i < 120; ++i) EXPECT_EQ(share(i, false), 0) << i;
}

TEST(MotionAllocates, AtMost16BytesAPixelForABackground) {
  const long before = test::allocated_bytes;
  MotionDetector motion = made(with(MotionMethod::kBackground), 640, 480);
  look(motion, test::noise(640, 480, 1), 0);
  EXPECT_LE(test::allocated_bytes - before, 16 * 640 * 480);
  EXPECT_GT(test::allocated_bytes - before, 3 * 640 * 480);
}

TEST(MotionAllocates, NothingAFrame) {
  const cv::Mat pictures[] = {test::noise(160, 120, 1), test::smooth_noise(160, 120, 9, 2)};
  for (const MotionMethod method :
       {MotionMethod::kEdges, MotionMethod::kDifference, MotionMethod::kBackground}) {
    MotionDetector motion = made(with(method, 2 * kFrame), 160, 120);
    const auto run = [&] {
      for (int i = 0; i < 30; ++i) look(motion, pictures[i % 7 == 3], i * kFrame);
    };
    run();
    motion.forget();
    const long before = test::allocations;
    run();
    EXPECT_EQ(test::allocations, before) << static_cast<int>(method);
  }
}

}  // namespace
}  // namespace cuface
