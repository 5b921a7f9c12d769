// The search for the best split: each feature's quality is the plain one, and the bound loses none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/boost/cpu/orders.h"
#include "kernels/boost/cpu/scan.h"
#include "kernels/boost/search.h"
#include "kernels/boost/steps.h"
#include "kernels/boost/values.h"
#include "tests/kernels/boost_samples.h"
#include "tests/kernels/versions.h"

namespace cuface::boost {
namespace {

constexpr Boosting kAllBoostings[] = {Boosting::kDiscrete, Boosting::kReal, Boosting::kLogit,
                                      Boosting::kGentle};

/// All features of windows, and one node of all samples with uneven weights.
class Node {
 public:
  explicit Node(test::DrawnSamples drawn)
      : samples_(std::move(drawn)),
        bank(std::move(
            FeatureBank::create(samples_.side, samples_.side, FeatureMode::kBasic).value())),
        values(bank, samples_.view()),
        maker(bank, values),
        weights_(values.count()),
        responses_(values.count()),
        ids_(values.count() * kGroup),
        apart_(values.count()) {
    for (std::size_t i = 0; i < values.count(); ++i) {
      weights_[i] = static_cast<std::int32_t>(1000003 * (i * 5 % 17 + 1));
      responses_[i] = samples_.labels[i] ? weights_[i] : -weights_[i];
      sums_.weight += weights_[i];
      sums_.response += responses_[i];
    }
  }

  NodeSamples of(Boosting boosting) const { return {weights_, responses_, sums_, boosting}; }
  GroupOrder<std::uint16_t> order() { return {ids_.data(), apart_.data()}; }

 private:
  test::DrawnSamples samples_;

 public:
  const FeatureBank bank;
  const SampleValues values;
  OrderMaker maker;

 private:
  std::vector<std::int32_t> weights_, responses_;
  BoostSums sums_;
  std::vector<std::uint16_t> ids_, apart_;
};

class BoostSearch : public test::EveryVersion {
 protected:
  /// Compares every feature with best_split().
  void compare(Node& node) {
    std::vector<float> of_feature(node.values.padded());
    const std::span<const float> values(of_feature.data(), node.values.count());
    std::vector<std::uint32_t> sorted;
    for (std::size_t first = 0; first < node.bank.count(); first += kGroup) {
      node.maker.make(first, node.order());
      for (const Boosting boosting : kAllBoostings) {
        float qualities[kGroup];
        scan_group(node.order(), node.of(boosting), 0, qualities);
        for (std::size_t f = 0; f < kGroup && first + f < node.bank.count(); ++f) {
          node.values.of(node.bank.at(first + f), of_feature.data());
          sort_samples(values, sorted);
          ASSERT_EQ(qualities[f], best_split(values, sorted, node.of(boosting)).quality)
              << "feature " << first + f << ", boosting " << static_cast<int>(boosting);
        }
      }
    }
  }
};
CUFACE_EVERY_VECTOR_VERSION(BoostSearch);

TEST_P(BoostSearch, FindsThePlainQualities) {
  Node node(test::drawn_samples(8, 70, 91));
  compare(node);
}

// One window, of which a pixel differs by one grey level: values differ, but hardly.
TEST_P(BoostSearch, SplitsNothingWithinTheGap) {
  test::DrawnSamples samples;
  samples.side = 8;
  for (std::uint32_t i = 0; i < 60; ++i) {
    samples.add(true, 0);
    samples.labels.back() = static_cast<std::uint8_t>(i * 7 % 3 % 2);
    std::uint8_t& pixel = samples.pixels[i * 64 + 9 + i % 6 + 8 * (i / 6 % 6)];
    pixel = static_cast<std::uint8_t>(pixel < 128 ? pixel + 1 : pixel - 1);
  }
  Node node(std::move(samples));
  std::size_t within = 0;  // neighbours that are not equal, and not told apart
  std::vector<float> values(node.values.padded());
  for (std::size_t feature = 0; feature < node.bank.count(); ++feature) {
    node.values.of(node.bank.at(feature), values.data());
    std::sort(values.begin(), values.begin() + 60);
    for (std::size_t i = 0; i < 59; ++i)
      within += values[i] < values[i + 1] && !(values[i] + kTieGap < values[i + 1]) ? 1u : 0u;
  }
  EXPECT_GE(within, 100u);
  compare(node);
}

// What is as good as the bound must be told exactly, or of equal features another would be taken.
TEST_P(BoostSearch, TellsWhatReachesTheBound) {
  Node node(test::drawn_samples(10, 70, 90));
  std::size_t bounds = 0;
  for (const Boosting boosting : kAllBoostings) {
    for (std::size_t first = 0; first < node.bank.count(); first += 50 * kGroup) {
      node.maker.make(first, node.order());
      float all[kGroup], bounded[kGroup];
      scan_group(node.order(), node.of(boosting), 0, all);
      for (const float bound : all) {
        scan_group(node.order(), node.of(boosting), bound, bounded);
        ++bounds;
        for (std::size_t f = 0; f < kGroup; ++f) {
          if (all[f] >= bound)
            EXPECT_EQ(bounded[f], all[f]);
          else
            EXPECT_LE(bounded[f], all[f]);
        }
      }
    }
  }
  EXPECT_GE(bounds, 300u);
}

TEST(BoostThreshold, TellsNeighbouringFloatsApart) {
  for (const float lower : {-4.0f, -0.1f, 0.0f, 0.3f, 1.0f, 4.0f, 5.0f}) {
    float value = lower;
    for (int i = 0; i < 8; ++i) {
      const float upper = std::nextafter(value, 100.0f);
      EXPECT_LT(value, between(value, upper));
      EXPECT_FALSE(upper < between(value, upper));
      value = upper;
    }
  }
}

}  // namespace
}  // namespace cuface::boost
