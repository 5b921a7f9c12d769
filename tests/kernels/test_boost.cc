// Training a stage: every version gives the bytes of the plain one, with any number of threads, any
// memory and after any interruption. What it computes is held by test_boost_peer.cc and
// test_boost_twin.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/boost/boost.h"
#include "tests/kernels/boost_samples.h"
#include "tests/kernels/versions.h"

namespace cuface {
namespace {

using test::bank_of;
using test::bytes_of;
using test::kAllBoostings;
using test::options_of;

BoostedStage stage_of(const FeatureBank& bank, const TrainingSamples& samples,
                      const BoostOptions& options, const StageRun& run = {},
                      BoostedStage begun = {}) {
  auto stage = train_stage(bank, samples, options, run, std::move(begun));
  EXPECT_TRUE(stage.ok()) << stage.status().message();
  return stage.ok() ? std::move(stage.value()) : BoostedStage{};
}

BoostedStage plain_stage_of(const FeatureBank& bank, const TrainingSamples& samples,
                            const BoostOptions& options) {
  return test::plainly([&] { return stage_of(bank, samples, options); });
}

class BoostVersions : public test::EveryVersion {};
CUFACE_EVERY_VECTOR_VERSION(BoostVersions);

TEST_P(BoostVersions, GrowTheSameTrees) {
  const auto samples = test::drawn_samples(8, 70, 90);
  const FeatureBank bank = bank_of(8, FeatureMode::kAll);
  std::size_t nodes = 0;
  for (const Boosting boosting : kAllBoostings) {
    for (const int depth : {1, 3}) {
      const BoostOptions options = options_of(boosting, depth, 3);
      const BoostedStage plain = plain_stage_of(bank, samples.view(), options);
      EXPECT_EQ(bytes_of(stage_of(bank, samples.view(), options)), bytes_of(plain))
          << "boosting " << static_cast<int>(boosting) << ", depth " << depth;
      for (const WeakTree& tree : plain.trees) nodes += tree.nodes.size();
    }
  }
  EXPECT_GE(nodes, 60u);
}

// Samples of which each stands there several times, and windows of few values: many ties.
TEST_P(BoostVersions, SplitNoTies) {
  auto samples = test::drawn_samples(6, 60, 60);
  for (std::uint8_t& pixel : samples.pixels) pixel = static_cast<std::uint8_t>(pixel / 64 * 64);
  const FeatureBank bank = bank_of(6);
  for (const Boosting boosting : kAllBoostings) {
    const BoostOptions options = options_of(boosting, 2, 4);
    EXPECT_EQ(bytes_of(stage_of(bank, samples.view(), options)),
              bytes_of(plain_stage_of(bank, samples.view(), options)));
  }
}

TEST_P(BoostVersions, TakeMoreSamplesThanSixteenBitsCount) {
  static const auto samples = test::drawn_samples(4, 30000, 36000);
  ASSERT_GT(samples.labels.size(), std::size_t{1} << 16);
  static const FeatureBank bank = bank_of(4);
  constexpr Boosting kTwo[] = {Boosting::kDiscrete, Boosting::kLogit};
  // The plain version takes seconds, and is the same beside all.
  static const auto plain = [&] {
    std::vector<std::string> stages;
    for (const Boosting boosting : kTwo)
      stages.push_back(bytes_of(plain_stage_of(bank, samples.view(), options_of(boosting, 1, 1))));
    return stages;
  }();
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_EQ(bytes_of(stage_of(bank, samples.view(), options_of(kTwo[i], 1, 1))), plain[i]);
}

TEST(Boost, ThreadsAndMemoryChangeNothing) {
  if (simd::chosen() == "scalar") GTEST_SKIP() << "the plain version has neither";
  const auto samples = test::drawn_samples(9, 200, 233);
  const FeatureBank bank = bank_of(9);
  for (const Boosting boosting : kAllBoostings) {
    const BoostOptions options = options_of(boosting, 2, 2);
    StageRun run;
    run.threads = 1;
    const std::string expected = bytes_of(stage_of(bank, samples.view(), options, run));
    std::vector<std::size_t> used;
    for (const int threads : {1, 2, 5}) {
      for (const std::size_t memory :
           {std::size_t{0}, std::size_t{1} << 20, std::size_t{1} << 30}) {
        run.threads = threads;
        run.memory = memory;
        StageCost cost;
        auto stage = train_stage(bank, samples.view(), options, run, {}, &cost);
        ASSERT_TRUE(stage.ok());
        EXPECT_EQ(bytes_of(stage.value()), expected)
            << threads << " threads, " << memory << " bytes";
        used.push_back(cost.bytes);
      }
    }
    EXPECT_LT(used[0] + (1 << 19), used[1]);
    EXPECT_LT(used[1] + (1 << 19), used[2]);
  }
}

TEST(Boost, GoesOnWhereItWasInterrupted) {
  const auto samples = test::drawn_samples(10, 80, 90);
  const FeatureBank bank = bank_of(10);
  for (const Boosting boosting : kAllBoostings) {
    const BoostOptions options = options_of(boosting, 2, 6);
    std::vector<BoostedStage> seen;
    StageRun run;
    run.watch = [&](const BoostedStage& stage) { seen.push_back(stage); };
    const std::string expected = bytes_of(stage_of(bank, samples.view(), options, run));
    ASSERT_GE(seen.size(), 3u);
    EXPECT_EQ(bytes_of(seen.back()), expected);
    for (const BoostedStage& begun : seen)
      EXPECT_EQ(bytes_of(stage_of(bank, samples.view(), options, {}, begun)), expected)
          << begun.trees.size() << " trees";
  }
}

TEST(Boost, RefusesTreesOfAnotherWindow) {
  const auto samples = test::drawn_samples(10, 40, 50);
  const FeatureBank bank = bank_of(10);
  const BoostOptions options = options_of(Boosting::kGentle, 2, 3);
  const BoostedStage good = stage_of(bank, samples.view(), options);
  const auto refuses = [&](auto&& spoil) {
    BoostedStage bad = good;
    spoil(bad.trees[1]);
    const auto stage = train_stage(bank, samples.view(), options, {}, bad);
    return stage.status().code() == StatusCode::kInvalidArgument;
  };
  EXPECT_FALSE(refuses([](WeakTree&) {}));
  EXPECT_TRUE(refuses([](WeakTree& tree) { tree = {}; }));
  EXPECT_TRUE(refuses([](WeakTree& tree) { tree.leaves.pop_back(); }));
  EXPECT_TRUE(refuses([](WeakTree& tree) { tree.leaves[0] = NAN; }));
  EXPECT_TRUE(refuses([](WeakTree& tree) { tree.nodes[0].threshold = INFINITY; }));
  EXPECT_TRUE(refuses([](WeakTree& tree) { tree.nodes[0].left = 77; }));
  EXPECT_TRUE(refuses([](WeakTree& tree) { tree.nodes[0].right = -77; }));
  EXPECT_TRUE(refuses([](WeakTree& tree) { tree.nodes[0].feature = -1; }));
  EXPECT_TRUE(
      refuses([&](WeakTree& tree) { tree.nodes[0].feature = static_cast<int>(bank.count()); }));
  EXPECT_TRUE(refuses([](WeakTree& tree) {
    tree.nodes.resize(4);
    tree.leaves.resize(5);
    for (HaarNode& node : tree.nodes) node = {0, 0, 0, -1};
  }));
}

TEST(Boost, TellsTheRatesOfADetector) {
  const auto samples = test::drawn_samples(12, 150, 150);
  const FeatureBank bank = bank_of(12, FeatureMode::kAll);
  for (const Boosting boosting : kAllBoostings) {
    BoostOptions options;
    options.boosting = boosting;
    options.max_depth = 2;
    options.max_false_alarm = 0.3f;
    options.min_hit_rate = 0.95f;
    const BoostedStage stage = stage_of(bank, samples.view(), options);
    EXPECT_EQ(stage.end, StageEnd::kGoalReached);
    EXPECT_LE(stage.false_alarm, options.max_false_alarm);
    EXPECT_GE(stage.hit_rate, options.min_hit_rate);
    auto model = make_cascade(bank, std::vector<BoostedStage>{stage});
    ASSERT_TRUE(model.ok()) << model.status().message();
    auto failed = failed_stages(model.value(), samples.view());
    ASSERT_TRUE(failed.ok()) << failed.status().message();
    float passed[2] = {};
    for (std::size_t i = 0; i < samples.labels.size(); ++i)
      passed[samples.labels[i]] += static_cast<float>(failed.value()[i]);
    EXPECT_EQ(passed[1] / 150, stage.hit_rate);
    EXPECT_EQ(passed[0] / 150, stage.false_alarm);
  }
}

TEST(Boost, ACascadeHasEachFeatureOnceAndInOrder) {
  const auto samples = test::drawn_samples(10, 80, 90);
  const FeatureBank bank = bank_of(10);
  const BoostedStage stage = stage_of(bank, samples.view(), options_of(Boosting::kDiscrete, 2, 4));
  auto model = make_cascade(bank, std::vector<BoostedStage>{stage, stage});
  ASSERT_TRUE(model.ok());
  const CascadeModel& m = model.value();
  EXPECT_EQ(m.stages.size(), 2u);
  EXPECT_EQ(m.trees.size(), 2 * stage.trees.size());
  EXPECT_LE(2 * m.features.size(), m.nodes.size());
  std::size_t node = 0;
  for (const WeakTree& tree : stage.trees) {
    for (const HaarNode& expected : tree.nodes) {
      const HaarFeature feature = m.features[static_cast<std::size_t>(m.nodes[node++].feature)];
      const HaarFeature of_bank = bank.at(static_cast<std::size_t>(expected.feature));
      for (int r = 0; r < 3; ++r) {
        EXPECT_EQ(feature.rects[r].x, of_bank.rects[r].x);
        EXPECT_EQ(feature.rects[r].y, of_bank.rects[r].y);
        EXPECT_EQ(feature.rects[r].w, of_bank.rects[r].w);
        EXPECT_EQ(feature.rects[r].h, of_bank.rects[r].h);
        EXPECT_EQ(feature.rects[r].weight, of_bank.rects[r].weight);
      }
    }
  }
}

TEST(Boost, FlatWindowsFailTheFirstStage) {
  auto samples = test::drawn_samples(10, 40, 50);
  const FeatureBank bank = bank_of(10);
  const BoostedStage stage = stage_of(bank, samples.view(), options_of(Boosting::kGentle, 1, 2));
  auto model = make_cascade(bank, std::vector<BoostedStage>(3, stage));
  ASSERT_TRUE(model.ok());
  // Whatever passes: only the norm refuses.
  for (HaarStage& each : model.value().stages) each.threshold = -100;
  std::fill_n(samples.pixels.begin(), 100, std::uint8_t{77});
  auto failed = failed_stages(model.value(), samples.view());
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(failed.value()[0], 0);
  EXPECT_TRUE(std::all_of(failed.value().begin() + 1, failed.value().end(),
                          [](std::uint16_t stages) { return stages == 3; }));

  const auto others = test::drawn_samples(9, 2, 2);
  EXPECT_EQ(failed_stages(model.value(), others.view()).status().code(),
            StatusCode::kInvalidArgument);
  model.value().stages.clear();
  EXPECT_EQ(failed_stages(model.value(), samples.view()).status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(make_cascade(bank, {}).status().code(), StatusCode::kCorrupt);
}

// Left bright or right bright, with noise that no other feature beats.
TEST(Boost, APerfectStumpStaysFinite) {
  test::DrawnSamples samples;
  samples.side = 8;
  for (std::uint32_t i = 0; i < 40; ++i) {
    samples.add(false, i);
    samples.labels.back() = i % 2;
    for (std::size_t p = samples.pixels.size() - 64; p < samples.pixels.size(); ++p)
      samples.pixels[p] =
          static_cast<std::uint8_t>(samples.pixels[p] / 8 + (p % 8 < 4 ? i % 2 : 1 - i % 2) * 128);
  }
  const FeatureBank bank = bank_of(8);
  for (const Boosting boosting : kAllBoostings) {
    BoostOptions options;
    options.boosting = boosting;
    const BoostedStage stage = stage_of(bank, samples.view(), options);
    ASSERT_EQ(stage.trees.size(), 1u);
    EXPECT_EQ(stage.end, StageEnd::kGoalReached);
    EXPECT_EQ(stage.hit_rate, 1);
    EXPECT_EQ(stage.false_alarm, 0);
    const double odds = std::log((1 - 1e-5) / 1e-5);
    const double expected = boosting == Boosting::kDiscrete ? odds
                            : boosting == Boosting::kReal   ? odds / 2
                            : boosting == Boosting::kLogit  ? 2
                                                            : 1;
    EXPECT_NEAR(std::fabs(stage.trees[0].leaves[0]), expected, 1e-6);
  }
}

TEST(Boost, EndsWhereNothingIsLeftToTellApart) {
  auto samples = test::drawn_samples(8, 30, 30);
  // Half of the negatives are positives too.
  std::copy_n(samples.pixels.begin(), 15 * 64, samples.pixels.begin() + 30 * 64);
  const FeatureBank bank = bank_of(8);
  BoostOptions options = options_of(Boosting::kDiscrete, 1, 1000);
  const BoostedStage stage = stage_of(bank, samples.view(), options);
  EXPECT_EQ(stage.hit_rate, 1);
  EXPECT_GE(stage.false_alarm, 0.5f);
  EXPECT_NE(stage.end, StageEnd::kGoalReached);
}

TEST(Boost, CanBeStopped) {
  const auto samples = test::drawn_samples(10, 40, 50);
  const FeatureBank bank = bank_of(10);
  StopFlag stop;
  StageRun run;
  run.stop = &stop;
  std::size_t trees = 0;
  run.watch = [&](const BoostedStage& stage) {
    trees = stage.trees.size();
    if (trees == 2) stop.raise();
  };
  const BoostOptions options = options_of(Boosting::kGentle, 1, 50);
  EXPECT_EQ(train_stage(bank, samples.view(), options, run).status().code(),
            StatusCode::kCancelled);
  EXPECT_EQ(trees, 2u);
  trees = 0;
  EXPECT_EQ(train_stage(bank, samples.view(), options, run).status().code(),
            StatusCode::kCancelled);
  EXPECT_EQ(trees, 0u);
}

TEST(Boost, SaysWhatIsWrong) {
  const FeatureBank bank = bank_of(8);
  const auto good = test::drawn_samples(8, 20, 20);
  const auto says = [&](const test::DrawnSamples& samples, const BoostOptions& options = {}) {
    const auto stage = train_stage(bank, samples.view(), options);
    EXPECT_EQ(stage.status().code(), StatusCode::kInvalidArgument);
    return stage.status().message();
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(says(test::drawn_samples(8, 0, 20)), "no positive"));
  EXPECT_TRUE(has(says(test::drawn_samples(8, 20, 0)), "no negative"));
  EXPECT_TRUE(has(says(test::drawn_samples(7, 20, 20)), "7x7"));
  auto samples = good;
  samples.labels[3] = 2;
  EXPECT_TRUE(has(says(samples), "label"));
  samples = good;
  samples.pixels.pop_back();
  EXPECT_TRUE(has(says(samples), "as many"));
  samples = good;
  for (std::size_t i = 0; i < samples.pixels.size(); ++i) samples.pixels[i] = good.pixels[i % 64];
  EXPECT_TRUE(has(says(samples), "tells"));
  samples.labels.assign((std::size_t{1} << 20) + 1, 1);
  EXPECT_TRUE(has(says(samples), "more than"));

  const auto complains = [&](const char* name, auto&& spoil) {
    BoostOptions options;
    spoil(options);
    EXPECT_TRUE(has(says(good, options), name)) << name;
  };
  for (const float bad : {0.0f, 1.0f, -1.0f, NAN}) {
    complains("minHitRate", [&](BoostOptions& o) { o.min_hit_rate = bad; });
    complains("maxFalseAlarmRate", [&](BoostOptions& o) { o.max_false_alarm = bad; });
  }
  for (const double bad : {0.0, 1.1, -1.0, double{NAN}})
    complains("weightTrimRate", [&](BoostOptions& o) { o.weight_trim_rate = bad; });
  for (const int bad : {0, 5}) complains("maxDepth", [&](BoostOptions& o) { o.max_depth = bad; });
  complains("maxWeakCount", [](BoostOptions& o) { o.max_weak_count = 0; });
}

}  // namespace
}  // namespace cuface
