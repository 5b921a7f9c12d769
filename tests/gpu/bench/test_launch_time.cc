// What is said of launches on cards that are made up: no GPU is needed.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "tests/gpu/launch_time.h"

namespace cuface::test {
namespace {

/// A GPU as events see it.
struct Card {
  double us;                ///< of a launch
  double of_events = 2;     ///< in each sample
  double of_host = 4;       ///< until a launch is submitted
  int takes_in = 1000;      ///< launches at a time; then the host waits
  double slow_until = 0;    ///< clocks rise then
  double busy_from = 1e12;  ///< something else runs from then on, for a turn and a half
  double now = 0;
  int samples = 0;

  std::optional<double> operator()(int launches, int ahead) {
    ++samples;
    const double begin = now + ahead;
    double time = of_events + launches * us;
    if (begin < slow_until) time *= 2;
    if (begin > busy_from && begin < busy_from + 3e4) time *= 1.3;
    if (samples % 7 == 0) time += 500;
    now = begin + time;
    if (ahead < launches * of_host || launches > takes_in) return std::nullopt;
    return std::floor(2 * time + 0.37 * (samples % 3)) / 2;
  }
};

double said_of(Card card) {
  return launch_us([&](int launches, int ahead) { return card(launches, ahead); });
}

class OfALaunch : public testing::TestWithParam<double> {};

TEST_P(OfALaunch, IsFoundWhateverEventsCost) {
  const double us = GetParam();
  for (const double of_events : {0.5, 1.5, 3.0}) {
    Card card{us};
    card.of_events = of_events;
    EXPECT_NEAR(said_of(card), us, 0.025 * us) << of_events;
  }
}

TEST_P(OfALaunch, IsFoundByASlowHost) {
  Card card{GetParam()};
  card.of_host = 60;
  EXPECT_NEAR(said_of(card), card.us, 0.025 * card.us);
}

TEST_P(OfALaunch, IsFoundWhereFewAreTakenIn) {
  Card card{GetParam()};
  card.takes_in = 16;
  EXPECT_NEAR(said_of(card), card.us, 0.025 * card.us + card.of_events / card.takes_in);
}

TEST_P(OfALaunch, IsNotThatOfLowClocksOrOfOneTurn) {
  Card card{GetParam()};
  card.slow_until = 9'000;
  card.busy_from = 5e4;
  EXPECT_NEAR(said_of(card), card.us, 0.025 * card.us);
}

INSTANTIATE_TEST_SUITE_P(Lengths, OfALaunch, testing::Values(2.5, 5.4, 8.1, 30, 190, 900, 25'000));

TEST(OfALaunch, IsNoneWhereTheHostIsNeverAhead) {
  EXPECT_NONFATAL_FAILURE(launch_us([](int, int) -> std::optional<double> { return std::nullopt; }),
                          "the host takes longer");
}

}  // namespace
}  // namespace cuface::test
