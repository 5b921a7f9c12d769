// One weak classifier among all 162,336 features of a window of 24 x 24, and what a stage needs
// before its first one. The windows are drawn.
#include <benchmark/benchmark.h>

#include "kernels/boost/boost.h"
#include "tests/kernels/boost_samples.h"

namespace cuface {
namespace {

// Arguments: samples, boosting, gigabytes for sorted orders.
void weak_classifier(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  const auto samples = test::drawn_samples(24, count / 2, count - count / 2);
  auto bank = FeatureBank::create(24, 24, FeatureMode::kBasic);
  BoostOptions options;
  options.boosting = static_cast<Boosting>(state.range(1));
  options.max_weak_count = 5;
  options.max_false_alarm = 1e-6f;
  StageRun run;
  run.memory = static_cast<std::size_t>(state.range(2)) << 30;
  StageCost cost;
  for (auto _ : state) {
    cost = {};
    auto stage = train_stage(bank.value(), samples.view(), options, run, {}, &cost);
    if (!stage.ok()) return state.SkipWithError(stage.status().message().c_str());
    state.SetIterationTime(cost.search_seconds / static_cast<double>(stage.value().trees.size()));
  }
  state.counters["prepare_s"] = cost.prepare_seconds;
  state.counters["MB"] = static_cast<double>(cost.bytes) * 1e-6;
}

constexpr int kDiscrete = static_cast<int>(Boosting::kDiscrete);
constexpr int kLogit = static_cast<int>(Boosting::kLogit);
constexpr int kGentle = static_cast<int>(Boosting::kGentle);

BENCHMARK(weak_classifier)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Args({1000, kDiscrete, 4})
    ->Args({1000, kGentle, 4})
    ->Args({1000, kLogit, 4})
    ->Args({1000, kGentle, 0})
    ->Args({3000, kDiscrete, 4})
    ->Args({3000, kGentle, 4})
    ->Args({10000, kDiscrete, 4})
    ->Args({10000, kGentle, 4});

}  // namespace
}  // namespace cuface

BENCHMARK_MAIN();
