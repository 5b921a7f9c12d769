// Fits of similarities by a block of threads against those of the CPU, bit for bit: clean pairs,
// noise, outliers, too few, degenerate and not finite ones.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/similarity_kernel.h"

namespace cuface {
namespace {

using test::FitAnswer;
using test::FitTask;
using test::GuardedBytes;

struct Pairs {
  std::vector<Point> from, to;
  std::vector<FitTask> tasks;
};

bool same(const Similarity& a, const Similarity& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

class SimilarityCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
  }

  float uniform(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }

  /// `count` pairs of one motion with noise; `outliers` of a hundred go elsewhere.
  void add(Pairs& pairs, int count, float noise, int outliers) {
    const float scale = uniform(0.8f, 1.25f), angle = uniform(-0.4f, 0.4f);
    const double a = scale * std::cos(angle), b = scale * std::sin(angle);
    const Similarity motion{a, b, uniform(-30, 30), uniform(-30, 30)};
    pairs.tasks.push_back(
        {static_cast<int>(pairs.from.size()), count, uniform(0.5f, 3), random_()});
    for (int i = 0; i < count; ++i) {
      const Point p{uniform(0, 1900), uniform(0, 1000)};
      Point q = motion.apply(p);
      if (static_cast<int>(random_() % 100) < outliers) {
        q = {uniform(0, 1900), uniform(0, 1000)};
      } else {
        q = {q.x + noise * uniform(-1, 1), q.y + noise * uniform(-1, 1)};
      }
      pairs.from.push_back(p);
      pairs.to.push_back(q);
    }
  }

  void compare(const Pairs& pairs) {
    const std::size_t tasks = pairs.tasks.size();
    GuardedBytes task(test::bytes_of(pairs.tasks)), from(test::bytes_of(pairs.from)),
        to(test::bytes_of(pairs.to)), answer(tasks * sizeof(FitAnswer), test::kCanary),
        inlier(pairs.from.size(), test::kCanary);
    ASSERT_TRUE(
        test::fit_on_device(reinterpret_cast<const FitTask*>(task.data()), static_cast<int>(tasks),
                            reinterpret_cast<const Point*>(from.data()),
                            reinterpret_cast<const Point*>(to.data()),
                            reinterpret_cast<FitAnswer*>(answer.data()), inlier.data(), *stream_)
            .ok());
    const auto got = test::values_of<FitAnswer>(answer.get());
    const auto flags = inlier.get();
    for (std::size_t t = 0; t < tasks; ++t) {
      SCOPED_TRACE("task " + std::to_string(t));
      const FitTask& k = pairs.tasks[t];
      const auto n = static_cast<std::size_t>(k.count);
      const std::span<const Point> p(pairs.from.data() + k.first, n),
          q(pairs.to.data() + k.first, n);
      FitAnswer want;  // a fit that fails leaves what was there
      std::memset(static_cast<void*>(&want), test::kCanary, sizeof want);
      want.fits = fit_similarity(p, q, want.plain);
      std::vector<std::uint8_t> mask(n, test::kCanary);
      want.agreeing = fit_similarity_robust(p, q, k.threshold, k.seed, mask, want.robust);
      ASSERT_EQ(got[t].fits, want.fits);
      ASSERT_EQ(got[t].agreeing, want.agreeing);
      ASSERT_TRUE(same(got[t].plain, want.plain));
      ASSERT_TRUE(same(got[t].robust, want.robust));
      ASSERT_TRUE(std::equal(mask.begin(), mask.end(), flags.begin() + k.first));
      fits_ += want.fits;
      robust_ += want.agreeing > 0;
      outliers_ += want.agreeing > 0 ? k.count - want.agreeing : 0;
      none_ += want.agreeing == 0;
    }
  }

  std::optional<test::Stream> stream_;
  std::mt19937 random_{31};
  long fits_ = 0, robust_ = 0, outliers_ = 0, none_ = 0;
};

TEST_F(SimilarityCuda, MotionsWithNoiseAndOutliers) {
  Pairs pairs;
  for (int i = 0; i < test::cases(600); ++i)
    add(pairs, 2 + static_cast<int>(random_() % 400), i % 3 ? 0.5f * static_cast<float>(i % 5) : 0,
        10 * (i % 10));
  for (int i = 0; i < test::cases(100); ++i) {  // two motions, equally good
    const int count = 2 + static_cast<int>(random_() % 60);
    add(pairs, count, 0, 0);
    add(pairs, count, 0, 0);
    pairs.tasks.pop_back();
    pairs.tasks.back().count *= 2;
  }
  ASSERT_NO_FATAL_FAILURE(compare(pairs));
  test::compared("fits", fits_, 500);
  test::compared("robust fits", robust_, 400);
  test::compared("outliers", outliers_, 10'000);
}

TEST_F(SimilarityCuda, DegenerateAndNotFinitePairs) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const float big = std::numeric_limits<float>::max();
  Pairs pairs;
  for (const int count : {0, 1, 2, 3, 127, 128, 129}) {
    add(pairs, count, 0, 0);
    for (const float bad : {nan, infinity, -infinity, big, 0.0f}) {
      add(pairs, count, 0, 0);
      if (count > 0) pairs.to[static_cast<std::size_t>(pairs.tasks.back().first)].x = bad;
      add(pairs, count, 0, 0);
      const auto at = static_cast<std::size_t>(pairs.tasks.back().first);
      for (std::size_t i = at; i < pairs.from.size(); ++i) pairs.from[i] = {bad, 7};  // no extent
    }
  }
  ASSERT_NO_FATAL_FAILURE(compare(pairs));
  EXPECT_GE(fits_, 10);
  EXPECT_GE(none_, 20);
}

}  // namespace
}  // namespace cuface
