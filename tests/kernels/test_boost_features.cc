// The features that training chooses from: how many, which, and what their weights add up to.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "kernels/boost/feature_bank.h"
#include "tests/kernels/one_node_cascade.h"

namespace cuface {
namespace {

FeatureBank bank_of(int width, int height, FeatureMode mode,
                    FeatureWeights weights = FeatureWeights::kZeroMean) {
  auto bank = FeatureBank::create(width, height, mode, weights);
  EXPECT_TRUE(bank.ok()) << bank.status().message();
  return std::move(bank.value());
}

TEST(BoostFeatures, AreAsManyAsPublished) {
  EXPECT_EQ(bank_of(24, 24, FeatureMode::kBasic).count(), 162336u);
  EXPECT_EQ(bank_of(24, 24, FeatureMode::kCore).count(), 210400u);
  EXPECT_EQ(bank_of(24, 24, FeatureMode::kAll).count(), 261600u);
}

TEST(BoostFeatures, AllOfThemAreAllowedInACascade) {
  const FeatureBank bank = bank_of(24, 20, FeatureMode::kAll);
  auto model = test::one_node_cascade(0, 0);
  model->window_width = 24;
  model->features.clear();
  std::size_t checked = 0;
  for (std::size_t i = 0; i < bank.count(); ++i) {
    model->features.push_back(bank.at(i));
    if (model->features.size() < kMaxCascadeFeatures && i + 1 < bank.count()) continue;
    const Status status = validate(*model);
    ASSERT_TRUE(status.ok()) << status.message() << ", of those up to " << i;
    checked += model->features.size();
    model->features.clear();
  }
  EXPECT_EQ(checked, bank.count());
  EXPECT_GT(checked, 100000u);
}

// A feature as it can be compared.
using Key = std::vector<std::tuple<bool, int, int, int, int>>;
Key key_of(const HaarFeature& feature) {
  Key key;
  for (int r = 0; r < feature.rect_count; ++r) {
    const HaarRect& rect = feature.rects[r];
    key.emplace_back(feature.tilted, rect.x, rect.y, rect.w, rect.h);
  }
  return key;
}

TEST(BoostFeatures, NoneIsThereTwice) {
  const FeatureBank bank = bank_of(16, 16, FeatureMode::kAll);
  std::set<Key> keys;
  for (std::size_t i = 0; i < bank.count(); ++i) keys.insert(key_of(bank.at(i)));
  EXPECT_EQ(keys.size(), bank.count());
}

double mean_of(const HaarFeature& feature) {
  double sum = 0;
  for (int r = 0; r < feature.rect_count; ++r) {
    const HaarRect& rect = feature.rects[r];
    sum += static_cast<double>(rect.weight) * rect.w * rect.h;
  }
  return sum;
}

TEST(BoostFeatures, HaveAMeanOfZeroUnlessOpenCvHasNot) {
  const FeatureBank ours = bank_of(24, 24, FeatureMode::kAll);
  const FeatureBank peers = bank_of(24, 24, FeatureMode::kAll, FeatureWeights::kOpenCv);
  ASSERT_EQ(ours.count(), peers.count());
  std::size_t differ = 0;
  for (std::size_t i = 0; i < ours.count(); ++i) {
    ASSERT_EQ(mean_of(ours.at(i)), 0) << "feature " << i;
    ASSERT_EQ(key_of(ours.at(i)), key_of(peers.at(i)));
    if (mean_of(peers.at(i)) == 0) continue;
    ++differ;
    EXPECT_FALSE(peers.at(i).tilted);
  }
  // Three in a row: 24 - 3 d + 1 places of each length, for each of 300 heights and their places.
  EXPECT_EQ(differ, 2u * 300 * 92);
}

TEST(BoostFeatures, WindowsHaveLimits) {
  for (const auto& [width, height] : {std::pair{2, 24}, {24, 2}, {65, 24}, {24, 65}, {-1, 24}}) {
    const auto bank = FeatureBank::create(width, height, FeatureMode::kBasic);
    ASSERT_FALSE(bank.ok());
    EXPECT_EQ(bank.status().code(), StatusCode::kInvalidArgument);
  }
  EXPECT_GT(bank_of(3, 3, FeatureMode::kBasic).count(), 0u);
  EXPECT_GT(bank_of(64, 3, FeatureMode::kAll).count(), 0u);
}

}  // namespace
}  // namespace cuface
