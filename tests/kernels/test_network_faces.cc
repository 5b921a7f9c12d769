// From cells to faces: the exponential, scores, boxes and points, the best candidates, suppression
// as OpenCV has it.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <opencv2/core.hpp>
#include <random>
#include <vector>

#include "kernels/network/decode.h"
#include "kernels/network/network.h"
#include "kernels/network/rules.h"
#include "tests/fewer.h"
#include "tests/kernels/networks.h"

namespace cuface {
namespace {

TEST(NetworkFaces, TheExponentialIsWithinTwoUnits) {
  double worst = 0;
  int compared = 0;
  for (float x = -80; x <= 80; x += 0.00137f, ++compared) {
    const double exact = std::exp(static_cast<double>(x));
    const float near = static_cast<float>(exact);
    const double unit = static_cast<double>(std::nextafter(near, 1e38f)) - near;
    worst = std::max(worst, std::fabs(exponential(x) - exact) / unit);
  }
  EXPECT_LT(worst, 2);
  EXPECT_GT(compared, 100000);
  EXPECT_EQ(exponential(0), 1);
  EXPECT_EQ(exponential(1e30f), exponential(80));
  EXPECT_EQ(exponential(-1e30f), exponential(-80));
  EXPECT_GT(exponential(-80), 0);
  EXPECT_EQ(network::sigmoid(0), 0.5f);
  EXPECT_EQ(network::sigmoid(100), 1);
  EXPECT_LT(network::sigmoid(-100), 1e-30f);
}

NetworkPlan plan_of(int width, int height) {
  auto plan = plan_network(*test::random_yunet(1, 4), width, height);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.value();
}

/// Cells that are no faces.
std::vector<NetworkCell> empty_cells(const NetworkPlan& plan) {
  return {plan.cells, NetworkCell{-100, -100, {}, {}}};
}

std::vector<NetworkFace> decode(const NetworkPlan& plan, const std::vector<NetworkCell>& cells,
                                const NetworkConfig& config = {}) {
  std::vector<NetworkFace> faces(1);
  EXPECT_TRUE(network::Decoder(plan, config).decode(cells, faces));
  return faces;
}

TEST(NetworkFaces, OneCellIsOneFace) {
  const NetworkPlan plan = plan_of(640, 360);
  auto cells = empty_cells(plan);
  // Of stride 16, row 3, column 7.
  NetworkCell& cell = cells[plan.grids[1].first + 3 * 40 + 7];
  cell = {2, 3, {0.25f, -0.5f, 1, 0.5f}, {0, 0, 1, 0, 0, 1, -1, 0.5f, 2, 2}};
  const auto faces = decode(plan, cells);
  ASSERT_EQ(faces.size(), 1u);
  const NetworkFace& f = faces[0];
  EXPECT_NEAR(f.score, std::sqrt(1 / (1 + std::exp(-2.0)) / (1 + std::exp(-3.0))), 1e-6);
  EXPECT_NEAR(f.box.w, 16 * std::exp(1.0), 1e-4);
  EXPECT_NEAR(f.box.h, 16 * std::exp(0.5), 1e-4);
  EXPECT_NEAR(f.box.x + f.box.w / 2, 7.25 * 16, 1e-4);
  EXPECT_NEAR(f.box.y + f.box.h / 2, 2.5 * 16, 1e-4);
  const Point points[] = {{112, 48}, {128, 48}, {112, 64}, {96, 56}, {144, 80}};
  for (int i = 0; i < kNetworkPoints; ++i) EXPECT_EQ(f.points[i], points[i]) << i;
  // Neither factor of the score is enough alone.
  cell.objects = -3;
  EXPECT_TRUE(decode(plan, cells).empty());
  std::swap(cell.classes, cell.objects);
  EXPECT_TRUE(decode(plan, cells).empty());
}

TEST(NetworkFaces, TheThresholdItselfIsEnough) {
  const NetworkPlan plan = plan_of(64, 64);
  auto cells = empty_cells(plan);
  cells[5] = {0.7f, 0.9f, {}, {}};
  const float score = network::score_of(cells[5]);
  EXPECT_EQ(decode(plan, cells, {.score_threshold = score}).size(), 1u);
  EXPECT_EQ(decode(plan, cells, {.score_threshold = std::nextafter(score, 1.0f)}).size(), 0u);
}

TEST(NetworkFaces, TiesGoToTheSmallerStrideThenRowThenColumn) {
  const NetworkPlan plan = plan_of(128, 128);
  auto cells = empty_cells(plan);
  // Boxes of no size at the middle of their cell: none overlaps another.
  const NetworkCell face{1, 1, {0.5f, 0.5f, -20, -20}, {}};
  const std::size_t places[] = {3, 16, 17, plan.grids[1].first + 1, plan.grids[2].first};
  for (const std::size_t place : places) cells[place] = face;
  cells[plan.grids[2].first + 5] = {2, 2, {0.5f, 0.5f, 0, 0}, {}};  // the best
  const auto faces = decode(plan, cells, {.nms_threshold = 1});
  ASSERT_EQ(faces.size(), 6u);
  EXPECT_GT(faces[0].score, faces[1].score);
  const Point centres[] = {{3.5f * 8, 4}, {4, 12}, {12, 12}, {24, 8}, {16, 16}};
  for (std::size_t i = 0; i < 5; ++i) {
    const Box& box = faces[i + 1].box;
    EXPECT_NEAR(box.x, centres[i].x, 1e-3) << i;
    EXPECT_NEAR(box.y, centres[i].y, 1e-3) << i;
  }
  EXPECT_EQ(decode(plan, cells, {.nms_threshold = 1, .max_faces = 3}).size(), 3u);
}

/// cv::dnn::NMSBoxes by its text, with OpenCV's own distance: that module is not installed
/// everywhere.
std::vector<std::size_t> opencv_survivors(const std::vector<cv::Rect>& sorted, float threshold) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const bool keep = std::all_of(kept.begin(), kept.end(), [&](std::size_t k) {
      const float overlap = 1.f - static_cast<float>(cv::jaccardDistance(sorted[i], sorted[k]));
      return overlap <= threshold;
    });
    if (keep) kept.push_back(i);
  }
  return kept;
}

/// Scores that rarely tie, boxes that often overlap.
std::vector<NetworkCell> random_cells(const NetworkPlan& plan, unsigned seed, float spread) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<NetworkCell> cells(plan.cells);
  for (NetworkCell& cell : cells) {
    cell.classes = 3 * normal(random);
    cell.objects = 3 * normal(random);
    for (float& b : cell.box) b = spread * normal(random);
    for (float& p : cell.points) p = normal(random);
  }
  return cells;
}

TEST(NetworkFaces, SurvivorsAreOpenCvs) {
  const NetworkPlan plan = plan_of(320, 256);
  std::size_t survivors = 0, suppressed = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const float threshold = 0.1f * static_cast<float>(seed % 11);
    const auto cells = random_cells(plan, seed, seed % 2 ? 0.5f : 2);
    const NetworkConfig all{0.5f, 1, kMaxNetworkCandidates};
    const auto candidates = decode(plan, cells, all);
    std::vector<cv::Rect> boxes;
    for (const NetworkFace& f : candidates) {
      boxes.emplace_back(static_cast<int>(f.box.x), static_cast<int>(f.box.y),
                         static_cast<int>(f.box.w), static_cast<int>(f.box.h));
    }
    std::vector<NetworkFace> expected;
    for (const std::size_t i : opencv_survivors(boxes, threshold)) {
      expected.push_back(candidates[i]);
    }
    EXPECT_EQ(decode(plan, cells, {0.5f, threshold, kMaxNetworkCandidates}), expected) << seed;
    survivors += expected.size();
    suppressed += candidates.size() - expected.size();
  }
  EXPECT_GT(survivors, 1000u);
  EXPECT_GT(suppressed, 1000u);
}

TEST(NetworkFaces, SuppressionAtTheEdges) {
  const auto suppresses = network::suppresses;
  EXPECT_TRUE(suppresses({0, 0, 10, 10}, {0, 0, 10, 10}, 0.99f));
  EXPECT_FALSE(suppresses({0, 0, 10, 10}, {0, 0, 10, 10}, 1));
  EXPECT_FALSE(suppresses({0, 0, 10, 10}, {10, 0, 10, 10}, 0));
  EXPECT_TRUE(suppresses({0, 0, 10, 10}, {9, 9, 10, 10}, 0));
  EXPECT_TRUE(suppresses({3, 3, 0, 0}, {90, 90, 0, 5}, 0.9f));  // both without area
  EXPECT_FALSE(suppresses({0, 0, 10, 10}, {5, 5, 0, 0}, 0));
  // A third, as it is rounded, and its neighbour.
  const float third = 1 - static_cast<float>(2.0 / 3);
  const Rect a{0, 0, 20, 10}, b{10, 0, 20, 10};
  EXPECT_FALSE(suppresses(a, b, third));
  EXPECT_TRUE(suppresses(a, b, std::nextafter(third, 0.0f)));
  // Areas beyond 32 bits.
  const Rect huge = network::truncated({-1e30f, -1e30f, 1e30f, 1e30f});
  EXPECT_EQ(huge, (Rect{-8388608, -8388608, 8388608, 8388608}));
  EXPECT_TRUE(suppresses(huge, huge, 0.99f));
  EXPECT_FALSE(suppresses(huge, {-10, -10, 20, 20}, 0.01f));
}

TEST(NetworkFaces, OnlyTheBestCandidatesAreLookedAt) {
  const NetworkPlan plan = plan_of(1280, 1024);
  auto cells = empty_cells(plan);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    // Better and better, too small to overlap.
    const float logit = 1 + 2 * static_cast<float>(i) / static_cast<float>(cells.size());
    cells[i] = {logit, logit, {0.5f, 0.5f, -20, -20}, {}};
  }
  ASSERT_GT(plan.cells, 20000u);
  const auto faces = decode(plan, cells, {0, 1, kMaxNetworkCandidates});
  ASSERT_EQ(faces.size(), size_t{kMaxNetworkCandidates});
  EXPECT_EQ(faces[0].score, network::score_of(cells.back()));
  EXPECT_EQ(faces.back().score, network::score_of(cells[cells.size() - kMaxNetworkCandidates]));
}

// Small boxes on a grid, of which many meet the threshold exactly, and boxes far outside.
TEST(NetworkFaces, SurvivorsSuppressAsEachOfThemDoes) {
  std::mt19937 random(1);
  std::size_t suppressed = 0, kept = 0;
  for (int round = 0; round < 40; ++round) {
    const int limit = round % 4 == 3 ? 1 << 23 : 6;
    const float thresholds[] = {0, 0.25f, 1 - static_cast<float>(2.0 / 3), 0.5f, 0.75f, 1};
    const float threshold = thresholds[round % 6];
    network::Survivors survivors(300);
    std::vector<Rect> boxes;
    for (int i = 0; i < 300; ++i) {
      const auto value = [&] { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
      const Rect box{value() * (random() % 2 ? 1 : -1), value() * 4, value(), value()};
      const bool expected = std::any_of(boxes.begin(), boxes.end(), [&](const Rect& better) {
        return network::suppresses(better, box, threshold);
      });
      ASSERT_EQ(survivors.suppress(box, threshold), expected) << round << " " << i;
      ++(expected ? suppressed : kept);
      if (expected && random() % 8 != 0) continue;
      survivors.push(box);
      boxes.push_back(box);
    }
  }
  EXPECT_GT(suppressed, 1000u);
  EXPECT_GT(kept, 1000u);
}

double thread_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

// All scores 1: the worst are boxes that all overlap, none by more than the threshold.
TEST(NetworkFaces, SuppressionOfEqualScoresIsShort) {
  const NetworkPlan plan = plan_of(1280, 1024);
  std::vector<NetworkCell> cells(plan.cells, NetworkCell{90, 90, {0.5f, 0.5f, 6, 6}, {}});
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].box[2] += 0.001f * static_cast<float>(i % 977);
  }
  for (const float threshold : {0.0f, 0.3f, 0.999f, 1.0f}) {
    network::Decoder decoder(plan, {0.6f, threshold, kMaxNetworkCandidates});
    std::vector<NetworkFace> faces;
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) {
      const double begin = thread_ms();
      ASSERT_TRUE(decoder.decode(cells, faces));
      best = std::min(best, thread_ms() - begin);
    }
    EXPECT_EQ(faces[0].score, 1);
    EXPECT_TRUE(threshold < 1 || faces.size() == size_t{kMaxNetworkCandidates});
    RecordProperty("ms at " + std::to_string(threshold), std::to_string(best));
    std::printf("threshold %.3f: %zu faces, %.1f ms\n", static_cast<double>(threshold),
                faces.size(), best);
#ifndef CUFACE_SANITIZED
    EXPECT_LT(best, 50) << threshold;
#endif
  }
}

TEST(NetworkFaces, StopsWhenItIsTold) {
  const NetworkPlan plan = plan_of(320, 256);
  StopFlag stop;
  stop.raise();
  std::vector<NetworkFace> faces(2);
  EXPECT_FALSE(network::Decoder(plan, {}).decode(empty_cells(plan), faces, &stop));
  EXPECT_TRUE(faces.empty());
}

}  // namespace
}  // namespace cuface
