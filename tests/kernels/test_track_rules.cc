// The rules of the tracker, each by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <random>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "kernels/track/loss_rules.h"
#include "kernels/track/state.h"
#include "tests/kernels/track_world.h"

namespace cuface {
namespace {

TEST(TrackRules, FindsOfANetworkAreComparedByTheirScores) {
  const auto find = [](float score, int neighbors = -1) {
    Face face;
    face.confidence = score;
    face.neighbors = neighbors;
    return face;
  };
  TrackConfig config;
  config.min_confirmed = 3;
  const auto enough = [&](std::initializer_list<Face> all) {
    track::Finds finds;
    for (const Face& face : all) finds.add(face);
    return finds.are_enough(config);
  };
  EXPECT_FALSE(enough({}));
  EXPECT_TRUE(enough({find(0.8f)}));
  EXPECT_FALSE(enough({find(0.79f)}));
  EXPECT_FALSE(enough({find(0.79f), find(0.79f)})) << "as windows they would be 22 of 12";
  EXPECT_TRUE(enough({find(0.6f), find(0.8f)}));
  EXPECT_TRUE(enough({find(0.8f), find(0.6f)})) << "the best counts";
  EXPECT_TRUE(enough({find(0.1f), find(0.1f), find(0.1f)})) << "found often enough";
  EXPECT_FALSE(enough({find(std::nanf("")), find(-1)}));
  EXPECT_FALSE(enough({find(0.75f, 9), find(0.6f), find(0.6f)})) << "9 windows, 2 finds";
  EXPECT_TRUE(enough({find(0.75f, 9), find(0.6f), find(0.5f, 3)})) << "12 windows";
  track::Finds many;
  for (int i = 0; i < 1000; ++i) many.add(find(0.5f));
  EXPECT_TRUE(many.are_enough(config));
  config.doubt_below = 0;
  EXPECT_TRUE(track::Finds().are_enough(config)) << "none is doubted";
}

TEST(TrackRules, KeypointsAreCarriedWithTheFace) {
  Face face;
  const Face without = face;
  const Similarity quarter{0, 2, 100, 10};  // (x, y) to (100 - 2y, 10 + 2x)
  track::carry_keypoints(face, quarter);
  EXPECT_EQ(face.keypoints[0], without.keypoints[0]);
  EXPECT_EQ(face.roll, without.roll);
  face.has_keypoints = true;
  face.keypoints[0] = {10, 20};
  face.keypoints[1] = {30, 20};
  face.keypoints[4] = {25, 40};
  track::carry_keypoints(face, quarter);
  EXPECT_EQ(face.keypoints[0], (Point{60, 30}));
  EXPECT_EQ(face.keypoints[1], (Point{60, 70}));
  EXPECT_EQ(face.keypoints[4], (Point{20, 60}));
  EXPECT_EQ(face.roll, (Roll{0, 1})) << "a quarter clockwise";
}

TEST(TrackRules, WindowsOfAConfidence) {
  for (int n = 0; n < 1000; ++n)
    ASSERT_EQ(track::votes_of(detection_confidence(n)), std::min(n, 255)) << n;
  for (const float c : {1.0f, 2.0f, std::numeric_limits<float>::infinity()})
    EXPECT_EQ(track::votes_of(c), 255) << c;
  for (const float c : {0.0f, -0.5f, -1e30f, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(track::votes_of(c), 0) << c;
    EXPECT_EQ(track::add_votes(10, c), 13) << "as the least that ours reports";
  }
  EXPECT_EQ(track::add_votes(0, detection_confidence(4)), 4);
  EXPECT_EQ(track::add_votes(250, detection_confidence(4)), 254);
  EXPECT_EQ(track::add_votes(250, detection_confidence(6)), 255) << "as many as are counted";
}

TEST(TrackRules, OverlapIsIntersectionOverUnion) {
  EXPECT_FLOAT_EQ(intersection_over_union({0, 0, 10, 10}, {0, 0, 10, 10}), 1.0f);
  EXPECT_FLOAT_EQ(intersection_over_union({0, 0, 10, 10}, {5, 0, 10, 10}), 50.0f / 150);
  EXPECT_EQ(intersection_over_union({0, 0, 10, 10}, {10, 0, 10, 10}), 0.0f);
  EXPECT_EQ(intersection_over_union({0, 0, 0, 0}, {0, 0, 0, 0}), 0.0f);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(intersection_over_union({nan, 0, 10, 10}, {0, 0, 10, 10}), 0.0f);
}

/// Greedy matching from its definition: sort all pairs, take what is free.
std::vector<int> brute_force(const std::vector<Box>& tracks, const std::vector<Box>& found,
                             float min_overlap) {
  std::vector<std::tuple<float, int, int>> pairs;
  for (int t = 0; t < static_cast<int>(tracks.size()); ++t) {
    for (int d = 0; d < static_cast<int>(found.size()); ++d) {
      const float o = intersection_over_union(tracks[static_cast<std::size_t>(t)],
                                              found[static_cast<std::size_t>(d)]);
      if (o >= min_overlap) pairs.emplace_back(-o, t, d);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  std::vector<int> match(tracks.size(), -1);
  std::set<int> taken;
  for (const auto& [o, t, d] : pairs) {
    if (match[static_cast<std::size_t>(t)] >= 0 || taken.count(d)) continue;
    match[static_cast<std::size_t>(t)] = d;
    taken.insert(d);
  }
  return match;
}

TEST(TrackRules, AssociationEqualsItsDefinition) {
  std::mt19937 random(4);
  int matched = 0;
  for (int round = 0; round < 400; ++round) {
    // Few places and whole numbers, so that ties are common.
    const auto boxes = [&](std::size_t n) {
      std::vector<Box> list;
      for (std::size_t i = 0; i < n; ++i) {
        list.push_back({static_cast<float>(random() % 12) * 4, static_cast<float>(random() % 6) * 4,
                        static_cast<float>(8 + random() % 2 * 4), 12});
      }
      return list;
    };
    const std::vector<Box> tracks = boxes(random() % 65), found = boxes(random() % 65);
    std::vector<int> match(tracks.size(), 99);
    track::associate(tracks, found, 0.3f, match);
    EXPECT_EQ(match, brute_force(tracks, found, 0.3f));
    for (int m : match) matched += m >= 0;
  }
  EXPECT_GT(matched, 1000);
}

TEST(TrackRules, DroppingTheRotationDoesNotThrowTheBox) {
  // 5 degrees about the centre of a face far from the origin: the box must stay.
  const Box box{600, 400, 100, 100};
  const double a = std::cos(0.0873), b = std::sin(0.0873);
  const double cx = 649.5, cy = 449.5;
  const Similarity turn{a, b, cx - (a * cx - b * cy), cy - (b * cx + a * cy)};
  std::vector<Point> points;
  for (int i = 0; i < 16; ++i) {
    points.push_back(
        {620 + static_cast<float>(i % 4) * 59 / 3, 420 + static_cast<float>(i / 4) * 59 / 3});
  }
  const auto moved = [&](const Similarity& motion, double scale) {
    std::vector<Point> to;
    for (const Point& p : points) to.push_back(motion.apply(p));
    Similarity fitted;
    similarity::Agreement agreement;
    EXPECT_TRUE(similarity::fit(points, to, nullptr, fitted, &agreement));
    return track::move_box(box, fitted, scale, agreement);
  };
  EXPECT_LT(box_error(moved(turn, 1), box), 0.01f);
  const Similarity grow{1.1, 0, cx - 1.1 * cx, cy - 1.1 * cy};
  EXPECT_LT(box_error(moved(grow, 1.1), {595, 395, 110, 110}), 0.01f);
}

float shape_distance(std::span<const Point> from, std::span<const Point> to) {
  similarity::SumScratch scratch;
  return track::shape_distance(SerialLanes{}, from, to, scratch);
}

TEST(TrackRules, ShapeDistanceIgnoresPlaceSizeAndTurn) {
  const std::vector<Point> shape = {{0, 0}, {10, 0}, {10, 20}, {0, 20}, {5, 9}};
  const Similarity s{1.2, 0.5, 30, -7};
  std::vector<Point> moved;
  for (const Point& p : shape) moved.push_back(s.apply(p));
  EXPECT_NEAR(shape_distance(shape, moved), 0, 1e-3);
  moved[4].x += 5;
  EXPECT_GT(shape_distance(shape, moved), 1.0f);
  EXPECT_LT(shape_distance(std::vector<Point>(5), moved), 0.0f);
}

}  // namespace
}  // namespace cuface
