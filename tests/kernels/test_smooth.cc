// Smoothed landmarks: the filter against its formulas, and what it does to faces that come and go.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "kernels/landmark_filter/smooth.h"

namespace cuface {
namespace {

constexpr double kSeconds = 0.04;

/// Faces of one frame, each with `per_face` points.
struct Frame {
  std::vector<Face> faces;
  std::vector<Point> landmarks;
  void add(std::uint64_t id, Point at, int per_face, float width = 100) {
    Face face;
    face.id = id;
    face.box = {0, 0, width, width};
    faces.push_back(face);
    for (int i = 0; i < per_face; ++i) landmarks.push_back({at.x + static_cast<float>(i), at.y});
  }
};

class Smooth : public testing::Test {
 protected:
  std::vector<Point> run(Frame frame, float smooth = 0.5f, double seconds = kSeconds) {
    const int count = static_cast<int>(frame.faces.size());
    const int per_face = count ? static_cast<int>(frame.landmarks.size()) / count : 0;
    forest::smooth_landmarks(SerialLanes{}, *state_, frame.faces.data(), frame.landmarks.data(),
                             count, per_face, seconds, smooth, scratch_);
    return frame.landmarks;
  }
  Point one(std::uint64_t id, Point at, float smooth = 0.5f, double seconds = kSeconds) {
    Frame frame;
    frame.add(id, at, 1);
    return run(frame, smooth, seconds)[0];
  }
  std::unique_ptr<SmoothState> state_ = std::make_unique<SmoothState>();
  forest::SmoothScratch scratch_;
};

/// The published filter for a point without a face's motion, and its mean with the frame before.
struct OneEuro {
  double x = 0, y = 0, vx = 0, vy = 0, shown_x = 0, shown_y = 0;
  bool first = true;
  static double weight(double hertz, double seconds) {
    return 1 / (1 + 1 / (2 * M_PI * hertz) / seconds);
  }
  void step(double mx, double my, double seconds, double eyes, double smooth) {
    if (std::exchange(first, false)) {
      x = shown_x = mx, y = shown_y = my;
      return;
    }
    const double w = weight(1, seconds);
    vx = w * (mx - x) / seconds + (1 - w) * vx;
    vy = w * (my - y) / seconds + (1 - w) * vy;
    const double a = weight(1 / smooth + 5 / smooth * std::hypot(vx, vy) / eyes, seconds);
    const double old_x = x, old_y = y, share = std::min(0.5, 0.7 * smooth);
    x = a * mx + (1 - a) * x;
    y = a * my + (1 - a) * y;
    shown_x = (1 - share) * x + share * old_x;
    shown_y = (1 - share) * y + share * old_y;
  }
};

TEST_F(Smooth, IsTheOneEuroFilterForAPointAlone) {
  for (const float smooth : {0.5f, 2.0f}) {
    state_ = std::make_unique<SmoothState>();
    std::mt19937 random(3);
    std::normal_distribution<double> step(0, 4);
    OneEuro expected;
    double x = 200, y = 100, moved = 0;
    for (int f = 0; f < 500; ++f) {
      x += step(random), y += step(random);
      const double seconds = f % 7 ? 0.04 : 0.1;
      const Point got = one(1, {static_cast<float>(x), static_cast<float>(y)}, smooth, seconds);
      expected.step(static_cast<float>(x), static_cast<float>(y), seconds, 50, smooth);
      ASSERT_NEAR(got.x, expected.shown_x, 2e-3) << f;
      ASSERT_NEAR(got.y, expected.shown_y, 2e-3) << f;
      moved += std::abs(got.x - x);
    }
    EXPECT_GT(moved, 100);
  }
}

// A face that moves slowly takes its points along: what the filter alone would lag behind them.
TEST_F(Smooth, PointsGoWithTheirFace) {
  constexpr float kStep = 0.3f;
  double behind[2] = {};
  for (int f = 0; f < 100; ++f) {
    const float x = 50 + kStep * static_cast<float>(f);
    Frame frame;
    frame.add(1, {x, 20}, 4);
    frame.landmarks[2].y += 30;
    behind[0] = x - run(frame)[0].x;
  }
  for (int f = 0; f < 100; ++f) {
    const float x = 50 + kStep * static_cast<float>(f);
    behind[1] = x - one(2, {x, 20}).x;
  }
  EXPECT_LT(behind[0], 0.75 * kStep);
  EXPECT_GT(behind[1], 1.1 * kStep);
}

TEST_F(Smooth, CalmsAPointAtRestAndLagsLittleBehindAFastOne) {
  std::mt19937 random(4);
  std::normal_distribution<float> noise(0, 0.5f);
  double before = 0, after = 0;
  Point last{}, last_measured{};
  for (int f = 0; f < 300; ++f) {
    const Point measured{200 + noise(random), 100 + noise(random)};
    const Point got = one(1, measured);
    if (f > 20) {
      before += std::abs(measured.x - last_measured.x);
      after += std::abs(got.x - last.x);
    }
    last = got, last_measured = measured;
  }
  EXPECT_LT(after, 0.5 * before);
  Point got{};
  for (int f = 0; f < 50; ++f) got = one(2, {100 + 5.0f * static_cast<float>(f), 50});
  EXPECT_LT(got.x, 345);         // behind, but
  EXPECT_GT(got.x, 345 - 5.0f);  // by less than a frame
}

TEST_F(Smooth, EachFaceHasItsOwnPastAndLosesItWithAFrameWithoutIt) {
  const auto frame = [](std::initializer_list<std::pair<std::uint64_t, float>> faces) {
    Frame f;
    for (const auto& [id, x] : faces) f.add(id, {x, 7}, 3);
    return f;
  };
  EXPECT_EQ(run(frame({{1, 10}, {2, 100}})), frame({{1, 10}, {2, 100}}).landmarks);
  // In another order; each between where it was and where it is.
  const auto moved = run(frame({{2, 101}, {1, 9}}));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GT(moved[i].x, 100 + static_cast<float>(i));
    EXPECT_LT(moved[i].x, 101 + static_cast<float>(i));
    EXPECT_LT(moved[3 + i].x, 10 + static_cast<float>(i));
    EXPECT_GT(moved[3 + i].x, 9 + static_cast<float>(i));
  }
  run(frame({{2, 101}}));
  EXPECT_EQ(run(frame({{1, 50}}))[0].x, 50) << "1 was away";
  EXPECT_EQ(run(frame({{2, 60}}))[0].x, 60) << "2 was away";
  EXPECT_EQ(run(Frame{}).size(), 0u);
  EXPECT_EQ(run(frame({{2, 70}}))[0].x, 70);
  // Nobody knows who a face without an id is.
  run(frame({{0, 10}}));
  EXPECT_EQ(run(frame({{0, 20}}))[0].x, 20);
}

TEST_F(Smooth, ManyFacesComeAndGo) {
  std::mt19937 random(5);
  long smoothed = 0, first = 0;
  std::vector<std::uint64_t> before;
  for (int f = 0; f < 200; ++f) {
    Frame frame;
    std::vector<std::uint64_t> now;
    for (std::uint64_t id = 1; id <= 80 && frame.faces.size() < 64; ++id) {
      if (random() % 10 < 7) {
        frame.add(id, {static_cast<float>(1000 * id) + static_cast<float>(f), 0}, 2);
        now.push_back(id);
      }
    }
    const auto got = run(frame);
    for (std::size_t i = 0; i < now.size(); ++i) {
      const bool known = std::find(before.begin(), before.end(), now[i]) != before.end();
      const float measured = frame.landmarks[2 * i].x;
      EXPECT_EQ(got[2 * i].x == measured, !known) << "frame " << f << " id " << now[i];
      EXPECT_NEAR(got[2 * i].x, measured, 20) << "of this face";
      smoothed += known, first += !known;
    }
    before = now;
  }
  EXPECT_GT(smoothed, 3000);
  EXPECT_GT(first, 1000);
}

TEST_F(Smooth, MoreFacesThanItRemembersStayAsTheyAre) {
  Frame frame;
  for (std::uint64_t id = 1; id <= 70; ++id) frame.add(id, {static_cast<float>(id), 0}, 1);
  run(frame);
  for (Point& p : frame.landmarks) p.x += 1;
  const auto got = run(frame);
  for (std::size_t i = 0; i < 70; ++i) EXPECT_EQ(got[i] == frame.landmarks[i], i >= 64) << i;
}

}  // namespace
}  // namespace cuface
