// How long a launch takes on a GPU, so that a second run finds the same: the times of published
// experiments.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "tests/gpu/gpu.h"
#include "tests/gpu/spin.h"

namespace cuface::test {

/// The mean of the middle half of `times`: some of them are those of a machine that was busy.
inline double middle_mean(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto quarter = static_cast<std::ptrdiff_t>(times.size() / 4);
  return std::accumulate(times.begin() + quarter, times.end() - quarter, 0.0) /
         static_cast<double>(times.end() - times.begin() - 2 * quarter);
}

/// Microseconds of one launch. `sample(launches, ahead)` gives those of so many, one behind
/// another, submitted within the `ahead` microseconds that the GPU is kept busy before; nothing
/// where that was too short, as the time would be the host's.
///
/// Events tick in half microseconds and cost one or two, so a sample is of at least kSample. Each
/// turn begins with work that counts nothing, as clocks fall while a reference is computed.
template <typename Sample>
double launch_us(const Sample& sample) {
  constexpr int kTurns = 5, kMostLaunches = 64, kMostAhead = 20'000;
  constexpr double kSample = 200, kWarmUp = 10'000, kTurn = 10'000;
  constexpr std::size_t kFewest = 5;
  int launches = 1, most = kMostLaunches, ahead = 100;
  bool lost = false;
  const auto next = [&]() -> double {
    for (;;) {
      if (const std::optional<double> us = sample(launches, ahead)) return *us;
      if (ahead < kMostAhead) {
        ahead *= 2;
      } else if (launches > 1) {  // more than the GPU takes in
        most = launches /= 2;
      } else {
        if (!std::exchange(lost, true))
          ADD_FAILURE() << "the host takes longer for a launch than " << ahead << " us";
        return kWarmUp;
      }
    }
  };
  const auto warm_up = [&] {
    for (double busy = 0; busy < kWarmUp;) busy += next() + ahead;
  };
  warm_up();
  while (launches < most && std::min({next(), next(), next()}) < kSample) launches *= 2;
  std::vector<double> turns;
  for (int turn = 0; turn < kTurns; ++turn) {
    warm_up();
    std::vector<double> times;
    for (double busy = 0; busy < kTurn || times.size() < kFewest;) {
      const double us = next();
      times.push_back(us / launches);
      busy += us;
    }
    turns.push_back(middle_mean(std::move(times)));
  }
  std::sort(turns.begin(), turns.end());
  return turns[kTurns / 2];
}

/// The time on the device of `enqueue()`, in microseconds. Under a tool it only runs once.
template <typename Enqueue>
double launch_us(cudaStream_t stream, Enqueue enqueue) {
  if (under_tool()) {
    enqueue();
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    return 0;
  }
  const Event begin, end;
  return launch_us([&](int launches, int ahead) -> std::optional<double> {
    EXPECT_EQ(spin(ahead, stream), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(begin, stream), cudaSuccess);
    for (int i = 0; i < launches; ++i) enqueue();
    EXPECT_EQ(cudaEventRecord(end, stream), cudaSuccess);
    const bool was_ahead = !begin.is_over();
    EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
    float ms = 0;
    EXPECT_EQ(cudaEventElapsedTime(&ms, begin, end), cudaSuccess);
    if (!was_ahead) return std::nullopt;
    return 1e3 * static_cast<double>(ms);
  });
}

/// The same of a list as a graph, as elements launch it.
inline double launch_us(cudaStream_t stream, cuda::LaunchList list) {
  cuda::GraphSet graphs;
  return launch_us(stream, [&] { EXPECT_TRUE(graphs.submit(list, stream).ok()); });
}

}  // namespace cuface::test
