// Homographies beside cv::getPerspectiveTransform and cv::findHomography: of four pairs exactly, of
// all pairs by least squares, and with planted outliers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <opencv2/calib3d.hpp>
#include <opencv2/imgproc.hpp>
#include <random>
#include <vector>

#include "kernels/homography/find.h"
#include "kernels/homography/homography.h"

namespace cuface {
namespace {

struct Pairs {
  std::vector<Point> from, to;
};

/// A picture of 600 x 400 seen by a camera, its corners moved by up to `tilt` of its size.
Homography view(unsigned seed, float tilt) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> move(-tilt, tilt), place(-100, 100), size(0.5f, 2);
  const float scale = size(random), x = place(random), y = place(random);
  const Point p[4] = {{0, 0}, {600, 0}, {600, 400}, {0, 400}};
  Point q[4];
  for (int i = 0; i < 4; ++i)
    q[i] = {scale * (p[i].x + 600 * move(random)) + x, scale * (p[i].y + 400 * move(random)) + y};
  Homography h;
  EXPECT_TRUE(homography::through_four(p, q, h));
  return h;
}

Pairs pairs_under(const Homography& h, int count, float noise, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> x(0, 600), y(0, 400);
  std::normal_distribution<float> error(0, 1);
  Pairs pairs;
  for (int i = 0; i < count; ++i) {
    pairs.from.push_back({x(random), y(random)});
    Point q = h.apply(pairs.from.back());
    pairs.to.push_back({q.x + noise * error(random), q.y + noise * error(random)});
  }
  return pairs;
}

std::vector<cv::Point2f> points(const std::vector<Point>& all) {
  std::vector<cv::Point2f> out;
  for (const Point& p : all) out.emplace_back(p.x, p.y);
  return out;
}

Homography opencv(const cv::Mat& m) {
  Homography h;
  for (int i = 0; i < 9; ++i) h.m[i] = m.at<double>(i / 3, i % 3);
  return h;
}

/// The largest distance of where both carry the corners of the picture.
double apart(const Homography& a, const Homography& b) {
  double most = 0;
  for (const Point p : {Point{0, 0}, Point{600, 0}, Point{600, 400}, Point{0, 400}}) {
    const Point q = a.apply(p), r = b.apply(p);
    most = std::max<double>(most, std::hypot(q.x - r.x, q.y - r.y));
  }
  return most;
}

TEST(Homography, OfFourPairsEqualsOpenCv) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> at(0, 1000);
  int compared = 0, refused = 0;
  for (int round = 0; round < 3'000; ++round) {
    Point p[4], q[4];
    std::vector<cv::Point2f> cp, cq;
    for (int i = 0; i < 4; ++i) {
      p[i] = {at(random), at(random)};
      q[i] = {at(random), at(random)};
      cp.emplace_back(p[i].x, p[i].y);
      cq.emplace_back(q[i].x, q[i].y);
    }
    const Homography theirs = opencv(cv::getPerspectiveTransform(cp, cq));
    // Before the camera are all four, or some are behind it.
    int before = 0;
    for (const Point& one : p) before += theirs.divisor(one) * theirs.divisor(p[0]) > 0;
    Homography ours;
    const bool found = homography::through_four(p, q, ours);
    ASSERT_EQ(found, before == 4) << round;
    if (!found) {
      ++refused;
      continue;
    }
    ++compared;
    for (int i = 0; i < 4; ++i) {
      EXPECT_GT(ours.divisor(p[i]), 0);
      const Point to = ours.apply(p[i]);
      EXPECT_NEAR(to.x, q[i].x, 1e-3) << round;
      EXPECT_NEAR(to.y, q[i].y, 1e-3) << round;
    }
    // OpenCV solves for pixels as they are, which costs it digits.
    const Point middle{(p[0].x + p[1].x + p[2].x + p[3].x) / 4,
                       (p[0].y + p[1].y + p[2].y + p[3].y) / 4};
    const Point a = ours.apply(middle), b = theirs.apply(middle);
    EXPECT_NEAR(a.x, b.x, 1e-4 * (1 + std::abs(b.x))) << round;
    EXPECT_NEAR(a.y, b.y, 1e-4 * (1 + std::abs(b.y))) << round;
  }
  EXPECT_GT(compared, 300);
  EXPECT_GT(refused, 300);
}

TEST(Homography, OfAllPairsEqualsOpenCvsLeastSquares) {
  int compared = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Homography truth = view(seed, 0.2f);
    const Pairs p = pairs_under(truth, 8 + static_cast<int>(seed % 90),
                                0.02f * static_cast<float>(seed % 50), seed + 1);
    const Homography theirs = opencv(cv::findHomography(points(p.from), points(p.to), 0));
    const std::vector<std::uint8_t> all(p.from.size(), 1);
    Homography ours = view(seed, 0.19f);  // near
    ASSERT_TRUE(refine_homography(p.from, p.to, all, ours)) << seed;
    // OpenCV ends after 10 steps, and its points are floats.
    EXPECT_LT(apart(ours, theirs), 0.01) << seed;
    const auto squares = [&](const Homography& h) {
      double sum = 0;
      for (std::size_t i = 0; i < p.from.size(); ++i) {
        const double w = h.divisor(p.from[i]);
        const Point& f = p.from[i];
        sum += std::pow((h.m[0] * f.x + h.m[1] * f.y + h.m[2]) / w - p.to[i].x, 2) +
               std::pow((h.m[3] * f.x + h.m[4] * f.y + h.m[5]) / w - p.to[i].y, 2);
      }
      return sum;
    };
    EXPECT_LE(squares(ours), squares(theirs) * (1 + 1e-6) + 1e-9) << seed;
    ++compared;
  }
  EXPECT_EQ(compared, 200);
}

TEST(Homography, LeavesOutliersOut) {
  int found = 0;
  for (const float outliers : {0.0f, 0.3f, 0.6f, 0.7f}) {
    for (unsigned seed = 0; seed < 40; ++seed) {
      const Homography truth = view(seed, 0.2f);
      const int n = 150, wrong = static_cast<int>(outliers * n);
      Pairs p = pairs_under(truth, n, 0.3f, seed);
      std::mt19937 random(seed + 1000);
      std::uniform_real_distribution<float> at(0, 1000);
      for (int k = 0; k < wrong; ++k) {
        Point& q = p.to[static_cast<std::size_t>(k)];
        const Point was = q;
        do q = {at(random), at(random)};
        while (std::hypot(q.x - was.x, q.y - was.y) < 8);
      }
      std::vector<std::uint8_t> inlier(n, 7);
      Homography h;
      const int count = find_homography(p.from, p.to, {}, seed, inlier, h);
      int sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_LE(inlier[i], 1);
        sum += inlier[i];
        EXPECT_EQ(inlier[i], i >= static_cast<std::size_t>(wrong)) << seed << " " << i;
      }
      EXPECT_EQ(sum, count);
      EXPECT_LT(apart(h, truth), 2.0) << outliers << " " << seed;
      const cv::Mat theirs = cv::findHomography(points(p.from), points(p.to), cv::RANSAC, 3,
                                                cv::noArray(), 2000, 0.999);
      EXPECT_LT(apart(h, truth), apart(opencv(theirs), truth) + 0.3) << outliers << " " << seed;
      ++found;
    }
  }
  EXPECT_EQ(found, 160);
}

TEST(Homography, ToleratesNanAndFewPoints) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  Pairs p = pairs_under(view(3, 0.1f), 40, 0.1f, 3);
  p.to[4].x = nan;
  p.from[11].y = nan;
  p.from[12] = {inf, nan};
  p.to[13].y = -inf;
  std::vector<std::uint8_t> inlier(40, 7);
  Homography h;
  EXPECT_EQ(find_homography(p.from, p.to, {}, 5, inlier, h), 36);
  EXPECT_EQ(inlier[4] + inlier[11] + inlier[12] + inlier[13], 0);
  EXPECT_LT(apart(h, view(3, 0.1f)), 1);

  const Homography untouched = h;
  const auto none = [&](const std::vector<Point>& from, const std::vector<Point>& to) {
    std::vector<std::uint8_t> marks(from.size(), 7);
    EXPECT_EQ(find_homography(from, to, {}, 5, marks, h), 0);
    EXPECT_EQ(marks, std::vector<std::uint8_t>(from.size(), 0));
    EXPECT_EQ(std::memcmp(&h, &untouched, sizeof h), 0);
  };
  for (std::size_t n : {0u, 1u, 3u}) {
    const Pairs few = pairs_under(view(3, 0.1f), static_cast<int>(n), 0, 3);
    none(few.from, few.to);
  }
  const std::vector<Point> same(10, Point{3, 3}), nans(10, Point{nan, nan});
  std::vector<Point> line;
  for (int i = 0; i < 10; ++i) line.push_back({10.0f * static_cast<float>(i), 5});
  none(same, same);
  none(nans, nans);
  none(line, line);
  none(line, pairs_under(view(3, 0.1f), 10, 0, 3).to);
}

/// Squares that are beyond all numbers, or so small that they are 0.
TEST(Homography, AMapOfHugeOrTinyNumbersHasNoInliers) {
  for (const auto& [amount, q] : {std::pair{1e200, Point{9, 9}}, {1e-200, Point{3, 4}}}) {
    const Homography h = {{amount, 0, 0, 0, amount, 0, 0, 0, amount}};
    EXPECT_EQ(homography::score_of(h, {3, 4}, q, 9), 0) << amount;
  }
}

TEST(Homography, FourPairsAreEnoughWhereTheyAgree) {
  const Pairs p = pairs_under(view(9, 0.2f), 4, 0, 9);
  std::vector<std::uint8_t> inlier(4);
  Homography h;
  EXPECT_EQ(find_homography(p.from, p.to, {}, 1, inlier, h), 4);
  EXPECT_LT(apart(h, view(9, 0.2f)), 0.1);
  EXPECT_FALSE(refine_homography(p.from, p.to, std::vector<std::uint8_t>{1, 1, 0, 1}, h));
}

TEST(Homography, MirroredViewsAreMapsToo) {
  Pairs p = pairs_under(view(4, 0.1f), 50, 0.1f, 4);
  for (Point& q : p.to) q.x = 900 - q.x;
  std::vector<std::uint8_t> inlier(50);
  Homography h;
  EXPECT_EQ(find_homography(p.from, p.to, {}, 1, inlier, h), 50);
  EXPECT_GT(h.divisor({300, 200}), 0);
}

TEST(Homography, IsAFunctionOfItsArguments) {
  Pairs p = pairs_under(view(8, 0.2f), 68, 1.5f, 8);
  std::vector<std::uint8_t> a(68), b(68);
  bool seed_matters = false;
  HomographyConfig config;
  config.threshold = 1;
  config.trials = 64;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Homography s, t;
    EXPECT_EQ(find_homography(p.from, p.to, config, seed, a, s),
              find_homography(p.from, p.to, config, seed, b, t));
    EXPECT_EQ(a, b);
    EXPECT_EQ(std::memcmp(&s, &t, sizeof s), 0);
    find_homography(p.from, p.to, config, seed + 1, b, t);
    seed_matters = seed_matters || a != b;
  }
  EXPECT_TRUE(seed_matters);
}

/// Where right pairs are off by as much as the threshold, who is in by a hair must not decide.
TEST(Homography, IsExactWhereRightPairsAreOffByTheThreshold) {
  std::vector<double> ours, theirs;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Homography truth = view(seed, 0.2f);
    Pairs p = pairs_under(truth, 80, 1.8f, seed);
    std::mt19937 random(seed + 1000);
    std::uniform_real_distribution<float> at(0, 1000);
    for (std::size_t i = 0; i < 50; ++i) p.to[i] = {at(random), at(random)};
    std::vector<std::uint8_t> inlier(80);
    Homography h;
    ASSERT_GE(find_homography(p.from, p.to, {}, seed, inlier, h), 4);
    ours.push_back(apart(h, truth));
    theirs.push_back(apart(opencv(cv::findHomography(points(p.from), points(p.to), cv::RANSAC, 3,
                                                     cv::noArray(), 2000, 0.999)),
                           truth));
  }
  std::ranges::sort(ours);
  std::ranges::sort(theirs);
  for (const std::size_t i : {30u, 45u}) EXPECT_LT(ours[i], theirs[i]) << i;
}

/// Sampling ends early where most pairs agree, and goes on where they do not.
TEST(Homography, MoreTrialsFindWhatFewMiss) {
  int few = 0, many = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Pairs p = pairs_under(view(seed, 0.1f), 100, 0.1f, seed);
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> at(0, 1000);
    for (std::size_t i = 0; i < 75; ++i) p.to[i] = {at(random), at(random)};
    std::vector<std::uint8_t> inlier(100);
    Homography h;
    HomographyConfig config;
    config.trials = 64;
    few += find_homography(p.from, p.to, config, seed, inlier, h) >= 25;
    config.trials = 4096;
    many += find_homography(p.from, p.to, config, seed, inlier, h) >= 25;
  }
  EXPECT_LT(few, 30);
  EXPECT_EQ(many, 40);
}

/// One in eight pairs is right, and these are turned alike.
TEST(Homography, PairsThatAreTurnedAlikeAreSampledTogether) {
  int uniform = 0, guided = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Pairs p = pairs_under(view(seed, 0.1f), 96, 0.1f, seed);
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> at(0, 1000), any(-360, 360), near(-15, 15);
    std::vector<float> turns;
    for (std::size_t i = 0; i < 96; ++i) {
      const bool is_right = i % 8 == 0;
      if (!is_right) p.to[i] = {at(random), at(random)};
      // Angles are told from 0 to 360, so that the same turn has two values.
      turns.push_back(is_right ? near(random) + (i % 16 ? 340.0f : -20.0f) : any(random));
    }
    std::vector<std::uint8_t> inlier(96);
    Homography h;
    HomographyConfig config;
    config.trials = 1024;
    uniform += find_homography(p.from, p.to, config, seed, inlier, h) >= 12;
    guided += find_homography(p.from, p.to, config, seed, inlier, h, turns) >= 12;
  }
  EXPECT_LT(uniform, 20);
  EXPECT_EQ(guided, 40);
}

TEST(Homography, TurnsAreComparedOnACircle) {
  using homography::is_turned_alike;
  for (const float turn : {-359.0f, -180.0f, 0.0f, 90.0f, 359.0f}) {
    for (const float whole : {-720.0f, -360.0f, 0.0f, 360.0f, 720.0f}) {
      for (const float apart : {-29.0f, 0.0f, 29.0f, -31.0f, 31.0f, 180.0f}) {
        const float other = turn + whole + apart;
        if (std::abs(other) >= 360) continue;
        EXPECT_EQ(is_turned_alike(turn, other), std::abs(apart) < 30) << turn << ", " << other;
      }
    }
  }
}

TEST(HomographySettings, ThatMakeNoSenseAreRefused) {
  const auto code = [](auto change) {
    HomographyConfig c;
    change(c);
    return validate(c).code();
  };
  EXPECT_EQ(code([](HomographyConfig&) {}), StatusCode::kOk);
  for (const float bad : {0.0f, -1.0f, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(code([&](HomographyConfig& c) { c.threshold = bad; }), StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(code([](HomographyConfig& c) { c.trials = 0; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](HomographyConfig& c) { c.trials = 65537; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](HomographyConfig& c) { c.confidence = 1.1f; }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](HomographyConfig& c) { c.confidence = std::nanf(""); }),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuface
