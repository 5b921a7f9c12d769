// Homographies found by a block of threads against those of the CPU, bit for bit: noise, outliers,
// too few pairs, degenerate ones and values that are not finite.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "tests/gpu/compare.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/homography_kernel.h"

namespace cuface {
namespace {

using test::GuardedBytes;
using test::HomographyAnswer;
using test::HomographyTask;

struct Pairs {
  std::vector<Point> from, to;
  std::vector<float> turns;
  std::vector<HomographyTask> tasks;
};

class HomographyCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
  }

  float uniform(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }

  /// `count` pairs of one view with noise; `outliers` of a hundred go elsewhere.
  void add(Pairs& pairs, int count, float noise, int outliers) {
    const Homography view{{uniform(0.5f, 1.5f), uniform(-0.4f, 0.4f), uniform(-50, 50),
                           uniform(-0.4f, 0.4f), uniform(0.5f, 1.5f), uniform(-50, 50),
                           uniform(-4e-4f, 4e-4f), uniform(-4e-4f, 4e-4f), 1}};
    HomographyConfig config;
    config.threshold = uniform(0.5f, 4);
    config.trials = 64 << random_() % 5;
    if (random_() % 2) {
      config.width = 640;
      config.height = 480;
    }
    const bool is_turned = random_() % 2;
    const float turn = uniform(-360, 360);
    pairs.tasks.push_back(
        {static_cast<int>(pairs.from.size()), count, config, random_(), is_turned});
    for (int i = 0; i < count; ++i) {
      const Point p{uniform(0, 640), uniform(0, 480)};
      const Point q = view.apply(p);
      pairs.from.push_back(p);
      const bool is_outlier = static_cast<int>(random_() % 100) < outliers;
      pairs.to.push_back(is_outlier
                             ? Point{uniform(0, 640), uniform(0, 480)}
                             : Point{q.x + noise * uniform(-1, 1), q.y + noise * uniform(-1, 1)});
      const float whole = is_outlier ? uniform(-360, 360) : turn + uniform(-20, 20);
      pairs.turns.push_back(std::fmod(whole, 360.0f));
    }
  }

  void compare(const Pairs& pairs) {
    const std::size_t tasks = pairs.tasks.size();
    GuardedBytes task(test::bytes_of(pairs.tasks)), from(test::bytes_of(pairs.from)),
        to(test::bytes_of(pairs.to)), turns(test::bytes_of(pairs.turns)),
        answer(tasks * sizeof(HomographyAnswer), test::kCanary),
        inlier(pairs.from.size(), test::kCanary);
    ASSERT_TRUE(test::find_on_device(
                    reinterpret_cast<const HomographyTask*>(task.data()), static_cast<int>(tasks),
                    reinterpret_cast<const Point*>(from.data()),
                    reinterpret_cast<const Point*>(to.data()),
                    reinterpret_cast<const float*>(turns.data()),
                    reinterpret_cast<HomographyAnswer*>(answer.data()), inlier.data(), *stream_)
                    .ok());
    const auto got = test::values_of<HomographyAnswer>(answer.get());
    const auto flags = inlier.get();
    for (std::size_t t = 0; t < tasks; ++t) {
      SCOPED_TRACE("task " + std::to_string(t));
      const HomographyTask& k = pairs.tasks[t];
      const auto n = static_cast<std::size_t>(k.count);
      HomographyAnswer want;  // a search that fails leaves what was there
      std::memset(static_cast<void*>(&want), test::kCanary, sizeof want);
      std::vector<std::uint8_t> mask(n, test::kCanary);
      want.inliers = find_homography(
          std::span(pairs.from).subspan(static_cast<std::size_t>(k.first), n),
          std::span(pairs.to).subspan(static_cast<std::size_t>(k.first), n), k.config, k.seed, mask,
          want.map,
          std::span(pairs.turns).subspan(static_cast<std::size_t>(k.first), k.is_turned ? n : 0));
      ASSERT_EQ(got[t].inliers, want.inliers);
      ASSERT_EQ(std::memcmp(&got[t].map, &want.map, sizeof want.map), 0);
      ASSERT_TRUE(std::equal(mask.begin(), mask.end(), flags.begin() + k.first));
      found_ += want.inliers > 0;
      none_ += want.inliers == 0;
      outliers_ += want.inliers > 0 ? k.count - want.inliers : 0;
    }
  }

  std::optional<test::Stream> stream_;
  std::mt19937 random_{37};
  long found_ = 0, none_ = 0, outliers_ = 0;
};

TEST_F(HomographyCuda, ViewsWithNoiseAndOutliers) {
  Pairs pairs;
  for (int i = 0; i < test::cases(300); ++i)
    add(pairs, 4 + static_cast<int>(random_() % 300), i % 3 ? 0.3f * static_cast<float>(i % 5) : 0,
        10 * (i % 9));
  ASSERT_NO_FATAL_FAILURE(compare(pairs));
  test::compared("homographies", found_, 200);
  test::compared("outliers", outliers_, 5'000);
}

TEST_F(HomographyCuda, DegenerateAndNotFinitePairs) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const float big = std::numeric_limits<float>::max();
  Pairs pairs;
  for (const int count : {0, 1, 3, 4, 5, 127, 128, 129}) {
    add(pairs, count, 0, 0);
    for (const float bad : {nan, infinity, -infinity, big, 0.0f}) {
      add(pairs, count, 0, 0);
      if (count > 0) pairs.to[static_cast<std::size_t>(pairs.tasks.back().first)].x = bad;
      add(pairs, count, 0, 0);
      const auto at = static_cast<std::size_t>(pairs.tasks.back().first);
      for (std::size_t i = at; i < pairs.from.size(); ++i) pairs.from[i] = {bad, 7};  // on a line
    }
  }
  ASSERT_NO_FATAL_FAILURE(compare(pairs));
  EXPECT_GE(found_, 10);
  EXPECT_GE(none_, 20);
}

}  // namespace
}  // namespace cuface
