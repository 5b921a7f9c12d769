// What cells make of a mask, and what lasts from frame to frame: events, ids, references; and what
// is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/motion/motion.h"
#include "kernels/motion/references.h"
#include "tests/kernels/motion_videos.h"

namespace cuface {
namespace {

using namespace test;

TEST(MotionCells, AreThePublishedOnes) {
  for (const auto& [width, height] : {std::pair(10, 6), {64, 48}, {101, 67}, {333, 59}}) {
    MotionConfig config = with(MotionMethod::kEdges);
    config.find_global_changes = false;
    config.tolerance = 1;
    MotionDetector motion = made(config, width, height);
    look(motion, cv::Mat::zeros(height, width, CV_8U), 0);
    const MotionResult result = look(motion, specks(width, height, 1, 9), kFrame);
    const cv::Mat mask = mask_of(motion);
    std::vector<unsigned> changed(60), pixels(60);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const auto cell = static_cast<std::size_t>(6 * y / height * 10 + 10 * x / width);
        ++pixels[cell];
        changed[cell] += mask.at<std::uint8_t>(y, x) != 0;
      }
    }
    for (std::size_t i = 0; i < 60; ++i) {
      ASSERT_EQ(result.cell_changed[i], changed[i]);
      ASSERT_EQ(result.cell_pixels[i], pixels[i]);
      const bool active = static_cast<double>(changed[i]) / pixels[i] > 0.01;
      ASSERT_EQ((result.active[i / 10] >> i % 10 & 1) != 0, active) << i;
    }
  }
}

// 640 x 480: cells of 64 x 80 pixels. By the algorithm 52 pixels are more than 1 %, 51 are not; by
// the listing one pixel is a density of 0.195.
TEST(MotionCells, TheListingsDensityIsAnother) {
  const auto active = [](const MotionConfig& config, int pixels) {
    MotionResult result;
    result.cell_changed[0] = static_cast<unsigned>(pixels);
    for (int i = 0; i < 60; ++i) result.cell_pixels[i] = 64 * 80;
    find_active(plan_motion(config, 640, 480).value(), result);
    return (result.active[0] & 1) != 0;
  };
  MotionConfig edges;
  edges.method = MotionMethod::kEdges;
  EXPECT_TRUE(active(edges, 52));
  EXPECT_FALSE(active(edges, 51));
  EXPECT_TRUE(active(published_motion(), 1));
  EXPECT_FALSE(active(published_motion(), 0));
  MotionConfig high = published_motion();
  high.threshold = kMillion;
  EXPECT_TRUE(active(high, 6));
  EXPECT_FALSE(active(high, 5));
}

TEST(MotionCells, TheToleranceScalesWithTheWidth) {
  EXPECT_EQ(motion_tolerance(5312), 12);
  EXPECT_EQ(motion_tolerance(640), 1);
  EXPECT_EQ(motion_tolerance(1920), 4);
  EXPECT_EQ(plan_motion({}, 1920, 1080).value().config.tolerance, 4);
}

TEST(MotionCells, ThePublishedBorderIsIgnored) {
  MotionDetector motion = made(published_motion(), 40, 30);
  look(motion, cv::Mat::zeros(30, 40, CV_8U), 0);
  look(motion, cv::Mat(30, 40, CV_8U, cv::Scalar(255)), kFrame);
  cv::Mat expected = cv::Mat::zeros(30, 40, CV_8U);
  expected(cv::Rect(7, 7, 26, 16)) = 255;
  EXPECT_EQ(unlike(mask_of(motion), expected), 0);
}

TEST(MotionIgnore, WhatIsIgnoredCountsNowhere) {
  MotionDetector motion = made(with(MotionMethod::kEdges), 200, 120);
  cv::Mat ignored = cv::Mat::zeros(120, 200, CV_8U);
  ignored.colRange(0, 110) = 1;
  ASSERT_TRUE(motion.ignore(test::view_of(ignored)).ok());
  for (int i = 0; i < 6; ++i) {
    const MotionResult result = look(motion, i % 2 ? square(40, 40) : nothing(), i * kFrame);
    EXPECT_EQ(result.changed, 0u);
    EXPECT_EQ(result.moving_cells, 0);
    if (i == 0) continue;
    EXPECT_EQ(result.pixels, 90u * 120);
    EXPECT_EQ(result.cell_pixels[4], 0u);
    EXPECT_EQ(result.cell_pixels[5], 200u);
  }
  EXPECT_EQ(motion.ignore({ignored.data, 199, 120, 200}).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(motion.ignore({}).ok());
  look(motion, square(40, 40), 6 * kFrame);
  EXPECT_EQ(look(motion, nothing(), 7 * kFrame).changed, 400u);
}

TEST(MotionEvents, BeginAfterTheFewestFramesAndEndAfterTheGap) {
  MotionConfig config = with(MotionMethod::kEdges);
  config.min_frames = 3;
  config.gap = 5 * kFrame;
  MotionDetector motion = made(config, 200, 120);
  std::vector<int> began, ended;
  for (int i = 0; i < 30; ++i) {
    const bool moves = i >= 5 && i < 12;
    const MotionResult result =
        look(motion, moves ? square(30 + i % 2 * 4, 30) : square(30, 30), i * kFrame);
    if (result.began) began.push_back(i);
    if (result.ended) ended.push_back(i);
    EXPECT_TRUE(!result.began || result.begin == i * kFrame);
    EXPECT_TRUE(!result.ended || result.last == 12 * kFrame);
  }
  EXPECT_EQ(began, std::vector<int>{7});
  EXPECT_EQ(ended, std::vector<int>{17});
  EXPECT_EQ(motion.finish().ended, 0);
}

TEST(MotionEvents, TheEndOfTheVideoEndsOne) {
  MotionDetector motion = made(with(MotionMethod::kEdges), 200, 120);
  for (int i = 0; i < 5; ++i) look(motion, square(10 * i, 30), i * kFrame);
  const MotionResult result = motion.finish();
  EXPECT_EQ(result.ended, 1);
  EXPECT_EQ(result.begin, 2 * kFrame);
  EXPECT_EQ(result.last, 4 * kFrame);
  EXPECT_EQ(motion.finish().ended, 0);
}

TEST(MotionBoxes, KeepTheirIds) {
  MotionDetector motion = made(with(MotionMethod::kEdges), 200, 120);
  for (int i = 0; i < 60; ++i) {
    // Two squares pass on the same rows, far apart; the one on the left is gone for some frames.
    const bool hidden = i >= 20 && i < 30;
    cv::Mat map = square(60 + 2 * i, 80, 15);
    if (!hidden) map |= square(2 * i, 10, 15);
    const MotionResult result = look(motion, map, i * kFrame);
    if (i < 2 || (i >= 21 && i <= 31)) continue;
    ASSERT_EQ(result.count, 2) << i;
    EXPECT_EQ(result.boxes[0].id, 1) << i;
    EXPECT_EQ(result.boxes[1].id, 2) << i;
    EXPECT_LE(result.boxes[0].bottom, 3);
    EXPECT_GE(result.boxes[1].top, 3);
    EXPECT_LE(std::abs(20 * result.boxes[1].left - (60 + 2 * i)), 24) << i;
  }
  // After the gap it is another.
  for (int i = 60; i < 100; ++i) look(motion, nothing(), i * kFrame);
  for (int i = 100; i < 103; ++i) look(motion, square(2 * i - 180, 10), i * kFrame);
  EXPECT_EQ(look(motion, square(26, 10), 103 * kFrame).boxes[0].id, 3);
}

TEST(MotionBoxes, CellsThatTouchAtCornersAreOne) {
  MotionResult result;
  const MotionPlan plan = plan_motion({}, 100, 60).value();
  result.moving[0] = 0b1000000001;
  result.moving[1] = 0b0000000010;
  result.moving[2] = 0b1000000100;
  result.moving[3] = 0b0100000010;
  find_boxes(plan, result);
  ASSERT_EQ(result.count, 3);
  const auto edges = [&](int i) {
    const MotionBox& box = result.boxes[i];
    return std::vector<int>{box.left, box.top, box.right, box.bottom, box.cells};
  };
  EXPECT_EQ(edges(0), (std::vector<int>{0, 0, 3, 4, 4}));
  EXPECT_EQ(edges(1), (std::vector<int>{9, 0, 10, 1, 1}));
  EXPECT_EQ(edges(2), (std::vector<int>{8, 2, 10, 4, 2}));
}

TEST(MotionBoxes, MoreThanThereIsRoomFor) {
  MotionConfig config;
  config.columns = config.rows = 64;
  const MotionPlan plan = plan_motion(config, 640, 640).value();
  MotionState state;
  for (int frame = 0; frame < 3; ++frame) {
    MotionResult result;
    for (int r = 0; r < 64; r += 2) result.moving[r] = 0x5555555555555555;
    find_boxes(plan, result);
    EXPECT_EQ(result.count, kMostMotionBoxes);
    EXPECT_EQ(result.beyond, 32 * 32 - kMostMotionBoxes);
    keep_ids(plan, frame, state, result);
    give_new_ids(frame, state, result);
    EXPECT_EQ(state.last_id, 64);
  }
}

TEST(MotionReferences, AreAsOldAsTheInterval) {
  for (const std::int64_t interval :
       {std::int64_t{0}, std::int64_t{7}, std::int64_t{200'000'000}}) {
    for (const std::int64_t step :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{8'333'333}, kFrame, 3 * interval}) {
      References references;
      std::vector<std::int64_t> in_slot(References::kSlots, -1);
      std::int64_t time = 0;
      int compared = 0;
      for (int i = 0; i < 400; ++i, time += step) {
        const References::Choice choice = references.choose(time, interval);
        ASSERT_NE(choice.now, choice.then);
        if (choice.then >= 0) {
          const std::int64_t age = time - in_slot[static_cast<std::size_t>(choice.then)];
          ++compared;
          ASSERT_GE(age, interval);
          ASSERT_LE(age,
                    std::max(interval + interval / 8 + 1, interval == 0 ? step : 0) + 2 * step);
        }
        in_slot[static_cast<std::size_t>(choice.now)] = time;
      }
      EXPECT_GT(compared, interval == 0 || step * 100 > interval ? 200 : -1)
          << interval << " " << step;
    }
  }
}

TEST(MotionReferences, SlowMotionIsSeenOverTheInterval) {
  const auto sees = [](std::int64_t interval) {
    MotionConfig config = with(MotionMethod::kEdges, interval);
    config.tolerance = 2;
    MotionDetector motion = made(config, 200, 120);
    bool seen = false;
    for (int i = 0; i < 30; ++i)
      seen |= look(motion, square(30 + i, 30, 1), i * kFrame).changed > 0;
    return seen;
  };
  EXPECT_FALSE(sees(0));
  EXPECT_TRUE(sees(200'000'000));
}

TEST(MotionErrors, AreSaid) {
  const auto refused = [](const std::function<void(MotionConfig&)>& change, int width = 64,
                          int height = 48) {
    MotionConfig config;
    change(config);
    const auto motion = MotionDetector::create(config, width, height);
    return !motion.ok() && motion.status().code() == StatusCode::kInvalidArgument &&
           !motion.status().message().empty();
  };
  EXPECT_FALSE(refused([](MotionConfig&) {}));
  EXPECT_TRUE(refused([](MotionConfig&) {}, 0, 48));
  EXPECT_TRUE(refused([](MotionConfig&) {}, 64, -1));
  EXPECT_TRUE(refused([](MotionConfig&) {}, kMostMotionSide + 1, 48));
  EXPECT_TRUE(refused([](MotionConfig&) {}, 9, 48)) << "more columns than pixels";
  EXPECT_TRUE(refused([](MotionConfig&) {}, 64, 5));
  EXPECT_TRUE(refused([](MotionConfig& c) { c.columns = 0; }));
  EXPECT_TRUE(refused([](MotionConfig& c) { c.columns = 65; }, 640));
  EXPECT_TRUE(refused([](MotionConfig& c) { c.rows = -3; }));
  EXPECT_TRUE(refused([](MotionConfig& c) { c.tolerance = -1; }));
  EXPECT_TRUE(refused([](MotionConfig& c) { c.tolerance = 256; }));
  EXPECT_TRUE(refused([](MotionConfig& c) { c.interval = -1; }));
  EXPECT_TRUE(refused([](MotionConfig& c) { c.gap = -1; }));
  EXPECT_TRUE(refused([](MotionConfig& c) { c.threshold = -1; }));
  EXPECT_TRUE(refused([](MotionConfig& c) { c.threshold = kMillion + 1; }));
  EXPECT_TRUE(refused([](MotionConfig& c) { c.border = -1; }));
  EXPECT_TRUE(refused([](MotionConfig& c) { c.min_frames = 0; }));
  EXPECT_TRUE(refused([](MotionConfig& c) { c.min_frames = 256; }));
  EXPECT_TRUE(refused([](MotionConfig& c) { c.method = static_cast<MotionMethod>(3); }));
  MotionDetector motion = made({}, 64, 48);
  const cv::Mat other(47, 64, CV_8U);
  EXPECT_EQ(motion.look(test::view_of(other), 0).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
