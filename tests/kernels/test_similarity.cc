// fit_similarity against Umeyama's method by SVD (cv::SVD), and the robust fit with planted
// outliers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <opencv2/core.hpp>
#include <random>

#include "kernels/similarity/fit.h"
#include "kernels/similarity/similarity.h"

namespace cuface {
namespace {

struct Pairs {
  std::vector<Point> from, to;
};

Similarity make(double scale, double angle, double tx, double ty) {
  return {scale * std::cos(angle), scale * std::sin(angle), tx, ty};
}

Pairs pairs_under(const Similarity& s, int count, float noise, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> at(0, 100);
  std::normal_distribution<float> error(0, 1);
  Pairs p;
  for (int i = 0; i < count; ++i) {
    p.from.push_back({500 + at(random), 300 + at(random)});
    Point q = s.apply(p.from.back());
    q.x += noise * error(random);
    q.y += noise * error(random);
    p.to.push_back(q);
  }
  return p;
}

/// Umeyama 1991, equations 40-43, by a singular value decomposition.
Similarity umeyama(const Pairs& p) {
  const double n = static_cast<double>(p.from.size());
  cv::Vec2d mx(0, 0), my(0, 0);
  for (std::size_t i = 0; i < p.from.size(); ++i) {
    mx += cv::Vec2d(p.from[i].x, p.from[i].y) / n;
    my += cv::Vec2d(p.to[i].x, p.to[i].y) / n;
  }
  cv::Matx22d sigma = cv::Matx22d::zeros();
  double variance = 0;
  for (std::size_t i = 0; i < p.from.size(); ++i) {
    const cv::Vec2d x = cv::Vec2d(p.from[i].x, p.from[i].y) - mx;
    const cv::Vec2d y = cv::Vec2d(p.to[i].x, p.to[i].y) - my;
    sigma += (1 / n) * (y * x.t());
    variance += x.dot(x) / n;
  }
  cv::Mat w, u, vt;
  cv::SVD::compute(cv::Mat(sigma), w, u, vt);
  cv::Mat s = cv::Mat::eye(2, 2, CV_64F);
  if (cv::determinant(u) * cv::determinant(vt) < 0) s.at<double>(1, 1) = -1;
  const cv::Mat r = u * s * vt;
  const double c = (w.at<double>(0) + s.at<double>(1, 1) * w.at<double>(1)) / variance;
  const double a = c * r.at<double>(0, 0), b = c * r.at<double>(1, 0);
  return {a, b, my[0] - (a * mx[0] - b * mx[1]), my[1] - (b * mx[0] + a * mx[1])};
}

TEST(Similarity, RecoversKnownTransforms) {
  for (double scale : {0.5, 1.0, 1.7}) {
    for (double angle : {-2.0, -0.1, 0.0, 0.3, 3.0}) {
      const Similarity truth = make(scale, angle, -30, 12);
      const Pairs p = pairs_under(truth, 40, 0, 1);
      Similarity s;
      ASSERT_TRUE(fit_similarity(p.from, p.to, s));
      EXPECT_NEAR(s.a, truth.a, 1e-5);
      EXPECT_NEAR(s.b, truth.b, 1e-5);
      EXPECT_NEAR(s.apply(p.from[7]).x, p.to[7].x, 1e-3);
      EXPECT_NEAR(s.apply(p.from[7]).y, p.to[7].y, 1e-3);
    }
  }
}

TEST(Similarity, EqualsUmeyamaBySvd) {
  int compared = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    Pairs p = pairs_under(make(0.4 + seed * 0.004, seed * 0.1, 5, -7),
                          2 + static_cast<int>(seed % 67), static_cast<float>(seed % 40), seed);
    // Mirrored sets (det < 0) too: the best rotation, not the reflection.
    if (seed % 3 == 0) {
      for (Point& q : p.to) q.x = 1000 - q.x;
    }
    const Similarity expected = umeyama(p);
    Similarity s;
    ASSERT_TRUE(fit_similarity(p.from, p.to, s));
    EXPECT_NEAR(s.a, expected.a, 1e-9);
    EXPECT_NEAR(s.b, expected.b, 1e-9);
    EXPECT_NEAR(s.tx, expected.tx, 1e-6);
    EXPECT_NEAR(s.ty, expected.ty, 1e-6);
    ++compared;
  }
  EXPECT_EQ(compared, 500);
}

TEST(Similarity, TellsHowWellThePairsAgree) {
  for (float noise : {0.0f, 0.3f, 4.0f}) {
    const Pairs p = pairs_under(make(1.1, 0.2, -30, 12), 40, noise, 2);
    std::vector<std::uint8_t> inlier(40, 1);
    for (std::size_t i : {0, 7, 39}) inlier[i] = 0;
    Similarity s;
    similarity::Agreement agreement;
    ASSERT_TRUE(similarity::fit(p.from, p.to, inlier.data(), s, &agreement));
    double x = 0, y = 0, extent = 0, residual = 0;
    for (std::size_t i = 0; i < 40; ++i) {
      if (!inlier[i]) continue;
      x += p.from[i].x / 37.0;
      y += p.from[i].y / 37.0;
    }
    for (std::size_t i = 0; i < 40; ++i) {
      if (!inlier[i]) continue;
      extent += std::pow(p.from[i].x - x, 2) + std::pow(p.from[i].y - y, 2);
      const double u = s.a * p.from[i].x - s.b * p.from[i].y + s.tx;
      const double v = s.b * p.from[i].x + s.a * p.from[i].y + s.ty;
      residual += std::pow(p.to[i].x - u, 2) + std::pow(p.to[i].y - v, 2);
    }
    EXPECT_EQ(agreement.count, 37);
    EXPECT_NEAR(agreement.x, x, 1e-9);
    EXPECT_NEAR(agreement.y, y, 1e-9);
    EXPECT_NEAR(agreement.extent, extent, 1e-6);
    EXPECT_NEAR(agreement.residual, residual, 1e-6);
    EXPECT_GE(agreement.residual, 0);
  }
}

TEST(Similarity, RefusesWhatHasNoAnswer) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<Point> two = {{1, 2}, {3, 4}}, same = {{5, 5}, {5, 5}};
  Similarity s{9, 9, 9, 9};
  EXPECT_FALSE(fit_similarity({}, {}, s));
  EXPECT_FALSE(fit_similarity(std::span(two).first(1), std::span(two).first(1), s));
  EXPECT_FALSE(fit_similarity(same, two, s));
  for (const float bad : {nan, inf, -inf}) {
    const std::vector<Point> broken = {{1, 2}, {bad, 4}};
    EXPECT_FALSE(fit_similarity(two, broken, s));
    EXPECT_FALSE(fit_similarity(broken, two, s));
  }
  EXPECT_EQ(s.a, 9);
  EXPECT_EQ(s.ty, 9);
}

TEST(Similarity, RobustFitLeavesOutliersOut) {
  for (double outliers : {0.0, 0.2, 0.4}) {
    for (unsigned seed = 0; seed < 100; ++seed) {
      const Similarity truth = make(1 + 0.001 * (seed % 50), 0.002 * seed, 3, -2);
      const int n = 68;
      Pairs p = pairs_under(truth, n, 0.2f, seed);
      std::mt19937 random(seed + 1000);
      std::uniform_real_distribution<float> jump(-60, 60);
      std::vector<bool> planted(n, false);
      for (int k = 0; k < static_cast<int>(outliers * n); ++k) {
        const auto i = static_cast<std::size_t>(k) * 2 % n + (k * 2 >= n);
        p.to[i].x += 6 + std::abs(jump(random));
        p.to[i].y += jump(random);
        planted[i] = true;
      }
      std::vector<std::uint8_t> inlier(n, 7);
      Similarity s;
      const int count = fit_similarity_robust(p.from, p.to, 1.5f, seed, inlier, s);
      int sum = 0;
      for (std::size_t i = 0; i < inlier.size(); ++i) {
        ASSERT_LE(inlier[i], 1);
        sum += inlier[i];
        if (planted[i]) {
          EXPECT_EQ(inlier[i], 0) << seed << " " << i;
        }
      }
      EXPECT_EQ(sum, count);
      EXPECT_GE(count, (1 - outliers) * n * 0.9);
      for (std::size_t i = 0; i < p.from.size(); ++i) {
        const Point a = s.apply(p.from[i]), b = truth.apply(p.from[i]);
        EXPECT_LT(std::hypot(a.x - b.x, a.y - b.y), 0.4) << seed;
      }
    }
  }
}

TEST(Similarity, RobustFitToleratesNaNAndFewPoints) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Pairs p = pairs_under(make(1.1, 0.05, 1, 2), 30, 0.1f, 3);
  p.to[4].x = nan;
  p.from[11].y = nan;
  p.from[12] = {nan, nan};
  std::vector<std::uint8_t> inlier(30);
  Similarity s;
  EXPECT_EQ(fit_similarity_robust(p.from, p.to, 1.0f, 5, inlier, s), 27);
  EXPECT_EQ(inlier[4] + inlier[11] + inlier[12], 0);
  EXPECT_NEAR(s.a, make(1.1, 0.05, 0, 0).a, 0.01);

  for (std::size_t n : {std::size_t{0}, std::size_t{1}}) {
    EXPECT_EQ(fit_similarity_robust(std::span(p.from).first(n), std::span(p.to).first(n), 1.0f, 5,
                                    std::span(inlier).first(n), s),
              0);
  }
  const std::vector<Point> same(10, Point{3, 3}), nans(10, Point{nan, nan});
  std::vector<std::uint8_t> ten(10, 7);
  EXPECT_EQ(fit_similarity_robust(same, same, 1.0f, 5, ten, s), 0);
  EXPECT_EQ(fit_similarity_robust(nans, nans, 1.0f, 5, ten, s), 0);
  EXPECT_EQ(ten, std::vector<std::uint8_t>(10, 0));
}

TEST(Similarity, RobustFitIsAFunctionOfItsArguments) {
  const Pairs p = pairs_under(make(1.02, -0.1, 4, 4), 68, 1.5f, 8);
  std::vector<std::uint8_t> a(68), b(68);
  Similarity s, t;
  bool seed_matters = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const int n = fit_similarity_robust(p.from, p.to, 1.0f, seed, a, s);
    EXPECT_EQ(n, fit_similarity_robust(p.from, p.to, 1.0f, seed, b, t));
    EXPECT_EQ(a, b);
    EXPECT_EQ(s.a, t.a);
    EXPECT_EQ(s.tx, t.tx);
    fit_similarity_robust(p.from, p.to, 1.0f, seed + 1, b, t);
    seed_matters = seed_matters || a != b;
  }
  EXPECT_TRUE(seed_matters);
}

}  // namespace
}  // namespace cuface
