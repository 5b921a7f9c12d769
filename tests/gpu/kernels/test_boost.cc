// Training a stage on a GPU against the CPU: orders, each feature's quality, and the bytes of a
// stage.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/boost/boost.h"
#include "kernels/boost/cuda/bounds.h"
#include "kernels/boost/cuda/order.h"
#include "kernels/boost/cuda/scan.h"
#include "kernels/boost/cuda/search.h"
#include "kernels/boost/cuda/sums.h"
#include "kernels/boost/search.h"
#include "kernels/boost/values.h"
#include "kernels/cascade/bind.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/kernels/boost_node.h"
#include "tests/kernels/boost_samples.h"

namespace cuface {
namespace {

using boost::NodeSamples;
using boost::SampleValues;
using test::bank_of;
using test::bytes_of;
using test::downloaded;
using test::DrawnSamples;
using test::kAllBoostings;
using test::Node;
using test::options_of;
using test::uploaded;

/// Windows of few grey levels, of which many are the same: many ties.
DrawnSamples coarse_samples(int side, std::uint32_t positives, std::uint32_t negatives) {
  DrawnSamples samples = test::drawn_samples(side, positives, negatives);
  for (std::uint8_t& pixel : samples.pixels) pixel = static_cast<std::uint8_t>(pixel / 64 * 64);
  return samples;
}

class BoostCuda : public testing::Test {
 protected:
  void SetUp() override {
    CUFACE_NEEDS_GPU();
    stream_.emplace();
  }

  /// The orders of all features and the best quality of each, with ids of this type.
  template <typename Id>
  void compare_features(const DrawnSamples& samples, FeatureMode mode, std::size_t every = 1) {
    const FeatureBank bank = bank_of(samples.side, mode);
    const SampleValues values(bank, samples.view());
    const auto count = static_cast<int>(values.count());
    std::vector<std::size_t> numbers;
    std::vector<BoundFeature> bound;
    for (std::size_t i = 0; i < bank.count(); i += every) {
      numbers.push_back(i);
      bound.push_back(bind_feature(bank.at(i), values.layout()));
    }
    auto device_bound = uploaded(bound);
    auto sums = uploaded(values.sums());
    auto norms = uploaded(values.norms());
    const std::size_t stride = cuda::boost::OrderRows<Id>::stride_of(values.count());
    test::GuardedBytes ids(bound.size() * stride * sizeof(Id), 0x5A);
    const cuda::boost::OrderRows<Id> orders{reinterpret_cast<Id*>(ids.data()), stride};
    auto plan = cuda::boost::OrderPlan::create(count, sizeof(Id));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    test::GuardedBytes scratch(plan.value().scratch_bytes(), 0x5A);
    test::GuardedBytes bin_bytes(cuda::boost::BinRows::bytes(bound.size(), stride), 0x5A);
    auto ends = uploaded(std::vector<std::uint32_t>(bound.size() * cuda::boost::kEndWords));
    const cuda::boost::BinRows bins{bin_bytes.data(), ends.data(), stride};
    const Status made =
        plan.value().make({sums.data(), norms.data(), values.padded(), count}, device_bound.data(),
                          static_cast<std::uint32_t>(bound.size()), orders, bins,
                          reinterpret_cast<std::byte*>(scratch.data()), *stream_);
    ASSERT_TRUE(made.ok()) << made.message();
    scratch.get();
    bin_bytes.get();
    const std::vector<std::uint8_t> bytes = ids.get();
    std::vector<Id> got(bound.size() * stride);
    std::memcpy(got.data(), bytes.data(), bytes.size());
    std::vector<float> of_feature(values.padded());
    for (std::size_t f = 0; f < bound.size(); ++f) {
      values.of(bank.at(numbers[f]), of_feature.data());
      compare_order<Id>({got.data() + f * stride, stride}, {of_feature.data(), values.count()});
      if (HasFailure()) return;
    }
    features_ += static_cast<long>(bound.size());
    for (const Boosting boosting : kAllBoostings) {
      for (const bool trimmed : {false, true})
        compare_qualities<Id>(orders, bins, values, bank, numbers,
                              Node(samples, boosting, trimmed));
      if (HasFailure()) return;
    }
  }

  template <typename Id>
  void compare_order(std::span<const Id> order, std::span<const float> values) {
    constexpr Id kApart = cuda::boost::OrderRows<Id>::kApart;
    const auto sample = [&](std::size_t i) { return static_cast<Id>(order[i] & ~kApart); };
    std::vector<bool> seen(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_LT(sample(i), values.size());
      ASSERT_FALSE(seen[sample(i)]);
      seen[sample(i)] = true;
      const bool last = i + 1 == values.size();
      if (!last) {
        ASSERT_LE(values[sample(i)], values[sample(i + 1)]);
      }
      const bool apart = !last && values[sample(i)] + boost::kTieGap < values[sample(i + 1)];
      ASSERT_EQ((order[i] & kApart) != 0, apart) << i;
      ties_ += apart || last ? 0 : 1;
    }
    for (std::size_t i = values.size(); i < order.size(); ++i) ASSERT_EQ(order[i], values.size());
  }

  template <typename Id>
  void compare_qualities(const cuda::boost::OrderRows<Id>& orders, const cuda::boost::BinRows& bins,
                         const SampleValues& values, const FeatureBank& bank,
                         const std::vector<std::size_t>& numbers, const Node& node) {
    const NodeSamples of_node = node.samples();
    std::vector<std::int32_t> all(of_node.responses.begin(), of_node.responses.end());
    const std::size_t padded = cuda::boost::OrderRows<Id>::stride_of(values.count() + 1);
    all.resize(padded);
    all.insert(all.end(), of_node.weights.begin(), of_node.weights.end());
    all.resize(2 * padded);
    auto on_gpu = uploaded(all);
    const auto count = static_cast<int>(values.count());
    const cuda::boost::DeviceNode device{on_gpu.data(), on_gpu.data() + padded, count, of_node.all,
                                         of_node.boosting};
    auto best = uploaded(std::vector<cuda::boost::BestSplit>(numbers.size()));
    auto plan = cuda::boost::ScanPlan::create(count, of_node.boosting);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    // Each alone, so that no other's quality bounds it.
    for (std::size_t f = 0; f < numbers.size(); ++f) {
      const Status scanned = plan.value().run<Id>({orders.ids + f * orders.stride, orders.stride},
                                                  static_cast<std::uint32_t>(numbers[f]), 1, device,
                                                  nullptr, best.data() + f, *stream_);
      ASSERT_TRUE(scanned.ok()) << scanned.message();
    }
    const std::vector<cuda::boost::BestSplit> found = downloaded(best);
    std::vector<float> of_feature(values.padded());
    std::vector<std::uint32_t> sorted;
    for (std::size_t f = 0; f < numbers.size(); ++f) {
      values.of(bank.at(numbers[f]), of_feature.data());
      const std::span<const float> its(of_feature.data(), values.count());
      boost::sort_samples(its, sorted);
      const float quality = boost::best_split(its, sorted, of_node).quality;
      std::uint32_t bits = 0;
      std::memcpy(&bits, &quality, sizeof bits);
      const auto number = ~static_cast<std::uint32_t>(numbers[f]);
      ASSERT_EQ(found[f], quality < 0 ? 0 : cuda::boost::BestSplit{bits} << 32 | number)
          << "feature " << numbers[f] << ", boosting " << static_cast<int>(of_node.boosting);
    }
    if (of_node.boosting != Boosting::kLogit) compare_bounds(bins, device, found);
  }

  /// `found`: the best split of each feature.
  void compare_bounds(const cuda::boost::BinRows& bins, const cuda::boost::DeviceNode& node,
                      const std::vector<cuda::boost::BestSplit>& found) {
    auto bounds = uploaded(std::vector<float>(found.size()));
    auto reached = uploaded(std::vector<cuda::boost::BestSplit>(1));
    const Status done = cuda::boost::bound_features(bins, static_cast<std::uint32_t>(found.size()),
                                                    node, bounds.data(), reached.data(), *stream_);
    ASSERT_TRUE(done.ok()) << done.message();
    const std::vector<float> at_most = downloaded(bounds);
    const cuda::boost::BestSplit least = downloaded(reached)[0];
    const auto quality_of = [](cuda::boost::BestSplit split) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(split >> 32));
    };
    const auto best = *std::ranges::max_element(found);
    // A split of one of them, so that this one is walked up.
    EXPECT_LE(quality_of(least), quality_of(best));
    EXPECT_EQ(static_cast<std::uint32_t>(least), 0u);
    for (std::size_t f = 0; f < found.size(); ++f) {
      ASSERT_GE(at_most[f], quality_of(found[f]) * (1 - 0x1p-18f))
          << "feature " << f << ", boosting " << static_cast<int>(node.boosting);
      passed_over_ += at_most[f] < quality_of(least) * (1 - 0x1p-18f) ? 1 : 0;
    }
  }

  void compare_stages(const DrawnSamples& samples, const FeatureBank& bank,
                      const BoostOptions& options, StageRun run = {}) {
    const auto plain = train_stage(bank, samples.view(), options);
    run.backend = TrainingBackend::kCuda;
    StageCost cost;
    const auto got = train_stage(bank, samples.view(), options, run, {}, &cost);
    ASSERT_TRUE(plain.ok() && got.ok()) << plain.status().message() << got.status().message();
    ASSERT_EQ(bytes_of(got.value()), bytes_of(plain.value()))
        << samples.labels.size() << " samples, boosting " << static_cast<int>(options.boosting)
        << ", depth " << options.max_depth;
    ASSERT_TRUE(cost.on_gpu);
    bytes_ = cost.bytes;
    for (const WeakTree& tree : plain.value().trees) nodes_ += static_cast<long>(tree.nodes.size());
  }

  std::optional<test::Stream> stream_;
  long features_ = 0, ties_ = 0, nodes_ = 0, passed_over_ = 0;
  std::size_t bytes_ = 0;
};

TEST_F(BoostCuda, SumsAndNormsOfEveryWindow) {
  for (const int side : {4, 9, 24}) {
    SCOPED_TRACE(side);
    DrawnSamples samples = test::drawn_samples(side, 40, 61);
    std::fill_n(samples.pixels.begin(), side * side, std::uint8_t{7});  // flat
    const SampleValues values(bank_of(side), samples.view());
    auto pixels = uploaded(samples.pixels);
    const auto bytes_of_all = [](const auto& all) {
      std::vector<std::uint8_t> bytes(all.size() * sizeof all[0]);
      std::memcpy(bytes.data(), all.data(), bytes.size());
      return bytes;
    };
    // Behind the last sample SampleValues has zeros.
    test::GuardedBytes sums(values.sums().size() * sizeof(std::uint32_t), 0);
    test::GuardedBytes norms(values.norms().size() * sizeof(float), 0);
    const Status made =
        cuda::boost::make_sums({pixels.data(), static_cast<int>(values.count()), side, side},
                               values.padded(), reinterpret_cast<std::uint32_t*>(sums.data()),
                               reinterpret_cast<float*>(norms.data()), *stream_);
    ASSERT_TRUE(made.ok()) << made.message();
    ASSERT_EQ(values.norms()[0], 0);
    EXPECT_EQ(sums.get(), bytes_of_all(values.sums()));
    EXPECT_EQ(norms.get(), bytes_of_all(values.norms()));
  }
}

TEST_F(BoostCuda, OrdersAndQualitiesOfEveryFeature) {
  const int side = test::under_tool() ? 4 : 9;
  compare_features<std::uint16_t>(test::drawn_samples(side, 70, 91), FeatureMode::kAll);
  compare_features<std::uint16_t>(coarse_samples(side, 60, 60), FeatureMode::kBasic);
  compare_features<std::uint32_t>(coarse_samples(side, 40, 41), FeatureMode::kBasic);
  test::compared("features", features_, 4'000);
  test::compared("places within ties", ties_, 10'000);
  test::compared("features not walked up", passed_over_, 10'000);
}

// Around whole chunks, and rounds of a warp and of a block.
TEST_F(BoostCuda, EveryNumberOfSamples) {
  for (const std::uint32_t count :
       {2u, 15u, 16u, 17u, 127u, 128u, 129u, 511u, 512u, 513u, 1023u, 1025u, 1600u, 2049u, 8193u}) {
    if (test::under_tool() && count > 1'600) break;
    const std::uint32_t positives = count / 3 + 1;
    compare_features<std::uint16_t>(test::drawn_samples(6, positives, count - positives),
                                    FeatureMode::kBasic, test::under_tool() ? 31 : 5);
    if (HasFailure()) return;
  }
  test::compared("features", features_, 900);
}

TEST_F(BoostCuda, StagesOfTheCpu) {
  const int side = test::under_tool() ? 4 : 12;
  const std::uint32_t count = test::under_tool() ? 100 : 300;
  const DrawnSamples samples = test::drawn_samples(side, count, count + 33);
  const FeatureBank bank = bank_of(side, FeatureMode::kAll);
  for (const Boosting boosting : kAllBoostings) {
    for (const int depth : {1, 3}) {
      BoostOptions options = options_of(boosting, depth, test::under_tool() ? 2 : 12);
      if (depth == 3) options.weight_trim_rate = 1;
      compare_stages(samples, bank, options);
      if (HasFailure()) return;
    }
  }
  compare_stages(coarse_samples(side, 100, 90), bank, options_of(Boosting::kGentle, 2, 3));
  test::compared("nodes", nodes_, 200);
}

// Ids of two bytes to 32,767 samples; and more than a block sorts in its own memory.
TEST_F(BoostCuda, ManySamples) {
  if (test::under_tool()) {
    compare_features<std::uint32_t>(test::drawn_samples(4, 6'000, 7'000), FeatureMode::kBasic, 70);
    return;
  }
  for (const std::uint32_t count : {32'767u, 32'768u, 70'000u}) {
    const DrawnSamples samples = test::drawn_samples(6, count / 2, count - count / 2);
    for (const Boosting boosting : {Boosting::kGentle, Boosting::kLogit}) {
      compare_stages(samples, bank_of(6), options_of(boosting, 1, 3));
      if (HasFailure()) return;
    }
  }
  test::compared("nodes", nodes_, 18);
}

// Of fewer samples and of more, of another boosting, and where not all orders fit.
TEST_F(BoostCuda, MemoryKeptForTheNextStage) {
  const int side = test::under_tool() ? 4 : 8;
  const FeatureBank bank = bank_of(side);
  std::unique_ptr<StageMemory> kept;
  for (const std::uint32_t count : {150u, 100u, 200u}) {
    for (const Boosting boosting : {Boosting::kGentle, Boosting::kLogit}) {
      for (const std::size_t memory : {std::size_t{0}, bank.count() * 300}) {
        StageRun run;
        run.kept = &kept;
        run.device_memory = memory;
        compare_stages(test::drawn_samples(side, count, count - 7), bank,
                       options_of(boosting, 1, 2), run);
        if (HasFailure()) return;
        ASSERT_NE(kept, nullptr);
      }
    }
  }
}

TEST_F(BoostCuda, AnyMemory) {
  const int side = test::under_tool() ? 4 : 12;
  const DrawnSamples samples = test::drawn_samples(side, 200, 233);
  const FeatureBank bank = bank_of(side);
  std::vector<std::size_t> used;
  for (const std::size_t memory : {std::size_t{1}, bank.count() * 448, std::size_t{1} << 30}) {
    StageRun run;
    run.device_memory = memory;
    compare_stages(samples, bank, options_of(Boosting::kGentle, 2, 2), run);
    if (HasFailure()) return;
    used.push_back(bytes_);
  }
  // One that is sorted again is in memory too, for as long as its block.
  EXPECT_LE(used[0], used[1]);
  EXPECT_LE(used[1], used[2]);
}

TEST_F(BoostCuda, GoesOnWhereTheCpuStopped) {
  const int side = test::under_tool() ? 5 : 10;
  const DrawnSamples samples = test::drawn_samples(side, 80, 90);
  const FeatureBank bank = bank_of(side);
  const BoostOptions options = options_of(Boosting::kReal, 2, 6);
  std::vector<BoostedStage> seen;
  StageRun run;
  run.watch = [&](const BoostedStage& stage) { seen.push_back(stage); };
  const auto whole = train_stage(bank, samples.view(), options, run);
  ASSERT_TRUE(whole.ok());
  ASSERT_GE(seen.size(), 3u);  // it ends where no sample is wrong any more
  run.watch = nullptr;
  run.backend = TrainingBackend::kCuda;
  for (const std::size_t at : {std::size_t{0}, seen.size() - 2}) {
    const auto rest = train_stage(bank, samples.view(), options, run, seen[at]);
    ASSERT_TRUE(rest.ok()) << rest.status().message();
    EXPECT_EQ(bytes_of(rest.value()), bytes_of(whole.value()));
  }
  StopFlag stop;
  stop.raise();
  run.stop = &stop;
  EXPECT_EQ(train_stage(bank, samples.view(), options, run).status().code(),
            StatusCode::kCancelled);
}

// A stage's set-up and its weak classifiers as a training has them, with all that the host does.
TEST_F(BoostCuda, Time) {
  if (test::under_tool()) GTEST_SKIP() << "times of a tool mean nothing";
  const FeatureBank bank = bank_of(24);
  for (const std::uint32_t count : {1'000u, 10'000u, 30'000u}) {
    const DrawnSamples samples = test::drawn_samples(24, count / 2, count / 2);
    for (const Boosting boosting : {Boosting::kDiscrete, Boosting::kGentle, Boosting::kLogit}) {
      constexpr int kTrees = 20;
      StageRun run;
      run.backend = TrainingBackend::kCuda;
      StageCost cost;
      const auto stage =
          train_stage(bank, samples.view(), options_of(boosting, 1, kTrees), run, {}, &cost);
      ASSERT_TRUE(stage.ok()) << stage.status().message();
      const auto trees = static_cast<double>(stage.value().trees.size());
      const char* names[] = {"discrete", "real", "logit", "gentle"};
      const std::string name = std::string("boost, ") + names[static_cast<int>(boosting)];
      const std::string size = std::to_string(count) + " samples";
      test::report_time(name + ", set-up", size, cost.prepare_seconds * 1e6);
      test::report_time(name + ", search of a weak classifier", size,
                        cost.search_seconds * 1e6 / trees);
      test::report_time(name + ", a weak classifier", size,
                        (cost.total_seconds - cost.prepare_seconds) * 1e6 / trees);
      std::printf("memory: %.2f GB\n", static_cast<double>(cost.bytes) * 1e-9);
    }
  }
}

}  // namespace
}  // namespace cuface
