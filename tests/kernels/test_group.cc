// Grouping against cv::groupRectangles, and shares_pixel grouping against a flood fill over all
// pairs.
#include <gtest/gtest.h>

#include <ctime>
#include <limits>
#include <opencv2/objdetect.hpp>
#include <random>

#include "kernels/group/box_rules.h"
#include "kernels/group/group.h"

namespace cuface {
namespace {

using Boxes = std::vector<Rect>;

std::vector<Detection> grouped(const Boxes& windows, Grouping rule, int min_neighbors) {
  GroupScratch scratch;
  std::vector<Detection> out;
  group(windows, rule, min_neighbors, scratch, out);
  return out;
}

void sort(std::vector<Detection>& d) { std::sort(d.begin(), d.end(), comes_before); }

std::vector<Detection> opencv_groups(const Boxes& windows, int min_neighbors) {
  std::vector<cv::Rect> rects;
  for (const Rect& r : windows) rects.emplace_back(r.x, r.y, r.w, r.h);
  std::vector<int> weights;
  cv::groupRectangles(rects, weights, min_neighbors, 0.2);
  std::vector<Detection> out;
  for (std::size_t i = 0; i < rects.size(); ++i) {
    out.push_back({{rects[i].x, rects[i].y, rects[i].width, rects[i].height}, weights[i]});
  }
  sort(out);
  return out;
}

// The published rule by its definition: everything reachable over pairs that share a pixel.
std::vector<Detection> overlap_groups(const Boxes& windows, int minimum) {
  std::vector<bool> visited(windows.size());
  std::vector<Detection> out;
  for (std::size_t seed = 0; seed < windows.size(); ++seed) {
    if (visited[seed]) continue;
    std::vector<std::size_t> members = {seed};
    visited[seed] = true;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const Rect a = windows[members[m]];
      for (std::size_t i = 0; i < windows.size(); ++i) {
        const Rect b = windows[i];
        const int w = std::min(a.x + a.w, b.x + b.w) - std::max(a.x, b.x);
        const int h = std::min(a.y + a.h, b.y + b.h) - std::max(a.y, b.y);
        if (visited[i] || w <= 0 || h <= 0) continue;
        visited[i] = true;
        members.push_back(i);
      }
    }
    if (static_cast<int>(members.size()) < minimum) continue;
    int x = 0, y = 0, w = 0, h = 0;
    for (const std::size_t m : members) {
      x += windows[m].x;
      y += windows[m].y;
      w += windows[m].w;
      h += windows[m].h;
    }
    const auto mean = [&](int sum) {
      return cvRound(static_cast<float>(sum) * (1.f / static_cast<float>(members.size())));
    };
    out.push_back({{mean(x), mean(y), mean(w), mean(h)}, static_cast<int>(members.size())});
  }
  sort(out);
  return out;
}

// Clusters of boxes of one size with a little scatter, and some loose ones.
Boxes random_windows(std::mt19937& random, int clusters, int extent) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Boxes out;
  for (int c = 0; c < clusters; ++c) {
    const int side = 20 + below(120), x = below(extent), y = below(extent);
    const int scatter = 1 + side / (4 + below(12)), members = 1 + below(14);
    const int height = below(4) == 0 ? side / 3 + 1 : side;
    for (int i = 0; i < members; ++i) {
      out.push_back(
          {x + below(scatter), y + below(scatter), side + below(scatter), height + below(scatter)});
    }
  }
  return out;
}

TEST(GroupOpenCv, EqualsGroupRectangles) {
  std::mt19937 random(7);
  std::size_t compared = 0;
  for (int round = 0; round < 400; ++round) {
    const Boxes windows = random_windows(random, 1 + round % 40, 300 + round);
    for (const int min_neighbors : {0, 1, 2, 3, 5}) {
      const auto expected = opencv_groups(windows, min_neighbors);
      ASSERT_EQ(grouped(windows, Grouping::kOpenCv, min_neighbors), expected) << round;
      compared += expected.size();
    }
  }
  EXPECT_GT(compared, 20'000u);
}

// Small boxes inside large ones: the rule that drops the weaker inner box.
TEST(GroupOpenCv, DropsInnerBoxesAsOpenCv) {
  std::mt19937 random(8);
  std::size_t kept = 0, classes = 0;
  for (int round = 0; round < 300; ++round) {
    Boxes windows;
    for (int c = 0; c < 6; ++c) {
      const int side = 20 << (c / 2), n = 1 + static_cast<int>(random() % 9);
      const int at = 60 + static_cast<int>(random() % 30);
      windows.insert(windows.end(), static_cast<std::size_t>(n), Rect{at, at, side, side});
      ++classes;
    }
    for (const int min_neighbors : {1, 2, 3}) {
      const auto expected = opencv_groups(windows, min_neighbors);
      ASSERT_EQ(grouped(windows, Grouping::kOpenCv, min_neighbors), expected) << round;
      if (min_neighbors == 1) kept += expected.size();
    }
  }
  EXPECT_LT(kept, classes * 3 / 4);
  EXPECT_GT(kept, classes / 8);
}

// Pairs of windows of any size all over a picture, each pair a group, and whole stacks of them.
Boxes many_groups(std::mt19937& random, int groups, int extent) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Boxes out;
  for (int i = 0; i < groups; ++i) {
    const int w = 10 + below(1 << (4 + below(6))), h = w + below(w / 3 + 1);
    const Rect box{below(extent) - extent / 4, below(extent) - extent / 4, w, h};
    out.insert(out.end(), static_cast<std::size_t>(2 + below(5)), box);
  }
  return out;
}

TEST(GroupOpenCv, DropsInnerBoxesOfManyGroupsAsOpenCv) {
  std::mt19937 random(13);
  std::size_t kept = 0, groups = 0;
  for (const int extent : {500, 4000, 40'000}) {
    const Boxes windows = many_groups(random, 900, extent);
    const auto expected = opencv_groups(windows, 1);
    ASSERT_EQ(grouped(windows, Grouping::kOpenCv, 1), expected) << extent;
    kept += expected.size();
    groups += 900;
  }
  EXPECT_GT(kept, groups / 8);
  EXPECT_LT(kept, groups * 7 / 8);
}

TEST(GroupOpenCv, KeepsMoreThanMinNeighbors) {
  const Boxes three(3, Rect{10, 10, 30, 30}), four(4, Rect{10, 10, 30, 30});
  EXPECT_TRUE(grouped(three, Grouping::kOpenCv, 3).empty());
  EXPECT_EQ(grouped(four, Grouping::kOpenCv, 3).size(), 1u);
}

TEST(GroupOpenCv, ToleranceIsATenthOfTheSides) {
  const auto pair_apart = [](int dx) {
    return grouped({{100, 50, 50, 50}, {100 + dx, 50, 50, 50}}, Grouping::kOpenCv, 1).size();
  };
  EXPECT_EQ(pair_apart(10), 1u);  // 0.1 * (50 + 50)
  EXPECT_EQ(pair_apart(11), 0u);
}

// The rules are in integers; OpenCV's are in double precision.
TEST(GroupOpenCv, IntegersDecideAsItsDoubles) {
  for (int sides = 0; sides <= 70'000; ++sides) {
    const double tolerance = 0.2 * sides * 0.5;
    for (int distance = sides / 10 - 2; distance <= sides / 10 + 2; ++distance)
      ASSERT_EQ(within_tolerance(distance, sides), std::abs(distance) <= tolerance)
          << distance << " of " << sides;
    ASSERT_EQ(fifth(sides), cvRound(sides * 0.2)) << sides;
  }
}

TEST(GroupOverlap, EqualsTheDefinition) {
  std::mt19937 random(9);
  std::size_t compared = 0;
  for (int round = 0; round < 300; ++round) {
    const Boxes windows = random_windows(random, 1 + round % 30, 200 + 20 * round);
    for (const int minimum : {1, 2, 3, 8}) {
      const auto expected = overlap_groups(windows, minimum);
      ASSERT_EQ(grouped(windows, Grouping::kOverlap, minimum), expected) << round;
      compared += expected.size();
    }
  }
  EXPECT_GT(compared, 3'000u);
}

// A window is its own neighbour: three are enough, and they need not all touch each other.
TEST(GroupOverlap, ThreeInAChainAreAGroup) {
  const Boxes chain = {{0, 0, 10, 10}, {9, 0, 10, 10}, {18, 0, 10, 10}};
  EXPECT_EQ(grouped(chain, Grouping::kOverlap, 3), (std::vector<Detection>{{{9, 0, 10, 10}, 3}}));
  const Boxes touching = {{0, 0, 10, 10}, {10, 0, 10, 10}, {0, 10, 10, 10}};
  EXPECT_TRUE(grouped(touching, Grouping::kOverlap, 3).empty());
  EXPECT_TRUE(grouped({chain[0], chain[1]}, Grouping::kOverlap, 3).empty());
}

// The windows a search makes: `side`, then 1.2 times as large, each at every `step` pixels of a
// picture, of which `share` of 256 pass.
Boxes windows_of_levels(std::mt19937& random, int extent, int step, unsigned share) {
  Boxes out;
  for (int side = 20; side < extent; side = side * 6 / 5) {
    for (int y = -3; y + side <= extent; y += step) {
      for (int x = -3; x + side <= extent; x += step) {
        if (random() % 256 < share) out.push_back({x, y, side, side});
      }
    }
  }
  return out;
}

TEST(Group, WindowsOfLevelsEqualTheDefinitions) {
  std::mt19937 random(12);
  std::size_t compared = 0;
  for (int round = 0; round < 60; ++round) {
    const Boxes windows = windows_of_levels(random, 60 + round, 1 + round % 4,
                                            static_cast<unsigned>(1 + round * round % 60));
    for (const int minimum : {1, 3}) {
      const auto expected = opencv_groups(windows, minimum);
      ASSERT_EQ(grouped(windows, Grouping::kOpenCv, minimum), expected) << round;
      ASSERT_EQ(grouped(windows, Grouping::kOverlap, minimum), overlap_groups(windows, minimum));
      compared += expected.size();
    }
  }
  EXPECT_GT(compared, 300u);
}

// Of the processor; the least of five.
std::clock_t time_of(const Boxes& windows, Grouping rule) {
  std::clock_t least = std::numeric_limits<std::clock_t>::max();
  for (int i = 0; i < 5; ++i) {
    const std::clock_t start = std::clock();
    EXPECT_EQ(grouped(windows, rule, 3).size(), 1u);
    least = std::min(least, std::clock() - start);
  }
  return least;
}

// A cascade that lets every window pass: eight times as many on one spot would take 64 times as
// long if all pairs were compared.
TEST(Group, ManyWindowsOnOneSpotAreNotComparedInPairs) {
  const auto spot = [](int extent) {
    Boxes out;
    for (int i = 0; i < extent; ++i) {
      for (int j = 0; j < extent; ++j) out.push_back({i % 60, j % 60, 60, 60});
    }
    return out;
  };
  for (const Grouping rule : {Grouping::kOpenCv, Grouping::kOverlap}) {
    EXPECT_LT(time_of(spot(240), rule), 30 * time_of(spot(85), rule));
  }
}

// Groups of two on a grid, as many as there may be: 16 times as many would take 256 times as long
// if all pairs of them were compared.
TEST(Group, ManyGroupsAreNotComparedInPairs) {
  const auto time_of_groups = [](int rows) {
    Boxes windows;
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < 2 * rows; ++x) windows.insert(windows.end(), 2, {40 * x, 40 * y, 30, 30});
    std::clock_t least = std::numeric_limits<std::clock_t>::max();
    for (int i = 0; i < 5; ++i) {
      const std::clock_t start = std::clock();
      EXPECT_EQ(grouped(windows, Grouping::kOpenCv, 1).size(), windows.size() / 2);
      least = std::min(least, std::clock() - start);
    }
    return least;
  };
  EXPECT_LT(time_of_groups(128), 64 * time_of_groups(32));
}

TEST(Group, OrderOfWindowsDoesNotMatter) {
  std::mt19937 random(10);
  Boxes windows = random_windows(random, 60, 700);
  for (const Grouping rule : {Grouping::kOpenCv, Grouping::kOverlap}) {
    for (const int min_neighbors : {0, 2}) {
      const auto first = grouped(windows, rule, min_neighbors);
      EXPECT_TRUE(std::is_sorted(first.begin(), first.end(), comes_before));
      for (int i = 0; i < 5; ++i) {
        std::shuffle(windows.begin(), windows.end(), random);
        EXPECT_EQ(grouped(windows, rule, min_neighbors), first);
      }
    }
  }
}

TEST(Group, NothingGivesNothing) {
  for (const Grouping rule : {Grouping::kOpenCv, Grouping::kOverlap}) {
    for (const int min_neighbors : {0, 3}) EXPECT_TRUE(grouped({}, rule, min_neighbors).empty());
  }
}

TEST(Group, ScratchIsReusedWithoutTraces) {
  std::mt19937 random(11);
  GroupScratch scratch;
  std::vector<Detection> out;
  for (int i = 0; i < 50; ++i) {
    const Boxes windows = random_windows(random, 1 + static_cast<int>(random() % 40), 400);
    group(windows, Grouping::kOpenCv, 2, scratch, out);
    ASSERT_EQ(out, grouped(windows, Grouping::kOpenCv, 2));
  }
}

}  // namespace
}  // namespace cuface
