// What lanes do in turn; test_similarity_cuda and test_track_cuda hold a block of threads against
// it.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "kernels/common/lanes.h"
#include "kernels/similarity/fit.h"

namespace cuface {
namespace {

constexpr SerialLanes kLanes;

TEST(Lanes, PickGivesPlacesInOrder) {
  std::vector<std::pair<int, int>> picked;
  const auto odd = [](int i) { return i % 2 == 1; };
  EXPECT_EQ(kLanes.pick(8, odd, [&](int i, int place) { picked.emplace_back(i, place); }), 4);
  EXPECT_EQ(picked, (std::vector<std::pair<int, int>>{{1, 0}, {3, 1}, {5, 2}, {7, 3}}));
  EXPECT_EQ(kLanes.pick(0, odd, [](int, int) { FAIL(); }), 0);
}

TEST(Lanes, LargestOfAll) {
  const int values[] = {3, -7, 12, 12, 5};
  EXPECT_EQ(kLanes.largest(5, [&](int i) { return values[i]; }), 12);
  EXPECT_EQ(kLanes.largest(2, [&](int i) { return values[i]; }), 3);
  EXPECT_EQ(kLanes.largest(1, [&](int i) { return values[i + 1]; }), -7);
}

/// Sums by lanes of their own, in pieces, are those by one lane in every bit.
TEST(Lanes, FitHasTheBitsOfOneLane) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> place(-900, 900);
  int fits = 0, none = 0;
  for (int n = 0; n < 600; n += n < 10 ? 1 : 29) {
    for (int masked = 0; masked < 3; ++masked) {
      std::vector<Point> from, to;
      std::vector<std::uint8_t> inlier;
      for (int i = 0; i < n; ++i) {
        from.push_back({place(random), place(random)});
        to.push_back({1.1f * from.back().x - 0.2f * from.back().y + place(random) / 99,
                      0.2f * from.back().x + 1.1f * from.back().y});
        inlier.push_back(random() % 3 > 0);
      }
      if (masked == 2 && n > 0) from[0].x = std::numeric_limits<float>::quiet_NaN();
      const std::uint8_t* const mask = masked == 1 ? inlier.data() : nullptr;
      Similarity one{9, 9, 9, 9}, many = one;
      similarity::Agreement of_one, of_many;
      similarity::SumScratch scratch;
      const bool fitted = similarity::fit(from, to, mask, one, &of_one);
      ASSERT_EQ(similarity::fit(kLanes, from, to, mask, many, &of_many, scratch), fitted) << n;
      ASSERT_EQ(std::memcmp(&one, &many, sizeof one), 0) << n;
      (fitted ? fits : none)++;
      if (!fitted) continue;
      ASSERT_EQ(of_many.count, of_one.count);
      ASSERT_EQ(of_many.x, of_one.x);
      ASSERT_EQ(of_many.y, of_one.y);
      ASSERT_EQ(of_many.extent, of_one.extent);
      ASSERT_EQ(of_many.residual, of_one.residual);
    }
  }
  EXPECT_GE(fits, 50);
  EXPECT_GE(none, 25);
}

}  // namespace
}  // namespace cuface
