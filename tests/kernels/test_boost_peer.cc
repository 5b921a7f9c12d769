// Stages beside those of opencv_traincascade 3.4.18: discrete boosting of stumps without trimming,
// on the same drawn windows. tests/full/traincascade has built the peer and made the files.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "kernels/boost/boost.h"
#include "models/models.h"
#include "tests/kernels/boost_samples.h"

namespace cuface {
namespace {

constexpr std::uint32_t kPositives = 600, kNegatives = 600;
constexpr float kNear = 1e-5f;

std::shared_ptr<const CascadeModel> peers(const std::string& name) {
  const auto path = std::string(std::getenv("CUFACE_SOURCE_ROOT")) + "/tests/kernels/" + name;
  auto model = load_cascade(path);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.value();
}

/// The samples of a stage: those that pass the stages before. Positives are read from the start
/// again, negatives go on where the stage before has ended.
class SampleReader {
 public:
  SampleReader(const FeatureBank& bank, const std::vector<BoostedStage>& stages)
      : bank_(bank), stages_(stages) {}

  test::DrawnSamples next() {
    test::DrawnSamples samples;
    samples.side = bank_.width();
    std::uint32_t positive = 0;
    fill(samples, true, kPositives, positive);
    fill(samples, false, kPositives + kNegatives, negative_);
    return samples;
  }

 private:
  void fill(test::DrawnSamples& samples, bool positive, std::size_t count, std::uint32_t& index) {
    while (samples.labels.size() < count) {
      constexpr std::uint32_t kAtOnce = 100;
      test::DrawnSamples more;
      more.side = samples.side;
      for (std::uint32_t i = 0; i < kAtOnce; ++i) more.add(positive, index + i);
      const std::vector<std::uint16_t> failed = failed_at(more);
      for (std::uint32_t i = 0; i < kAtOnce && samples.labels.size() < count; ++i, ++index)
        if (failed[i] == stages_.size()) samples.add(positive, index);
    }
  }
  std::vector<std::uint16_t> failed_at(const test::DrawnSamples& windows) const {
    if (stages_.empty()) return std::vector<std::uint16_t>(windows.labels.size());
    auto model = make_cascade(bank_, stages_);
    return failed_stages(model.value(), windows.view()).value();
  }

  const FeatureBank& bank_;
  const std::vector<BoostedStage>& stages_;
  std::uint32_t negative_ = 0;
};

std::string rects_of(const HaarFeature& feature) {
  std::string text = feature.tilted ? "tilted" : "upright";
  for (int r = 0; r < feature.rect_count; ++r) {
    const HaarRect& rect = feature.rects[r];
    for (const int part : {rect.x, rect.y, rect.w, rect.h, static_cast<int>(rect.weight)})
      text += " " + std::to_string(part);
  }
  return text;
}

struct Peer {
  const char* file;
  int side;
  FeatureMode mode;
};

class BoostPeer : public testing::TestWithParam<Peer> {};
INSTANTIATE_TEST_SUITE_P(Modes, BoostPeer,
                         testing::Values(Peer{"traincascade_basic.xml", 24, FeatureMode::kBasic},
                                         Peer{"traincascade_all.xml", 14, FeatureMode::kAll}));

TEST_P(BoostPeer, HasTheSameStages) {
  if (!std::getenv("CUFACE_SOURCE_ROOT")) GTEST_SKIP() << "CUFACE_SOURCE_ROOT is not set";
  const auto peer = peers(GetParam().file);
  ASSERT_EQ(peer->stages.size(), 3u);
  const int side = GetParam().side;
  auto made = FeatureBank::create(side, side, GetParam().mode, FeatureWeights::kOpenCv);
  const FeatureBank& bank = made.value();
  BoostOptions options;
  options.boosting = Boosting::kDiscrete;
  options.weight_trim_rate = 1;
  options.min_hit_rate = 0.99f;
  options.max_false_alarm = 0.4f;
  std::vector<BoostedStage> stages;
  SampleReader reader(bank, stages);
  std::size_t stumps = 0, tilted = 0;
  for (const HaarStage& expected : peer->stages) {
    const test::DrawnSamples samples = reader.next();
    auto trained = train_stage(bank, samples.view(), options);
    ASSERT_TRUE(trained.ok()) << trained.status().message();
    const BoostedStage& stage = trained.value();
    EXPECT_NEAR(stage.threshold, expected.threshold, kNear);
    ASSERT_EQ(stage.trees.size(), static_cast<std::size_t>(expected.tree_count));
    for (std::size_t t = 0; t < stage.trees.size(); ++t, ++stumps) {
      const HaarTree& tree = peer->trees[static_cast<std::size_t>(expected.first_tree) + t];
      const HaarNode& node = peer->nodes[static_cast<std::size_t>(tree.first_node)];
      const HaarNode& ours = stage.trees[t].nodes[0];
      const HaarFeature feature = bank.at(static_cast<std::size_t>(ours.feature));
      tilted += feature.tilted ? 1 : 0;
      const std::string where =
          "stage " + std::to_string(stages.size()) + ", stump " + std::to_string(t);
      EXPECT_EQ(rects_of(feature), rects_of(peer->features[static_cast<std::size_t>(node.feature)]))
          << where;
      EXPECT_NEAR(ours.threshold, node.threshold, kNear) << where;
      for (std::size_t leaf = 0; leaf < 2; ++leaf)
        EXPECT_NEAR(stage.trees[t].leaves[leaf],
                    peer->leaves[static_cast<std::size_t>(tree.first_leaf) + leaf], kNear)
            << where;
    }
    stages.push_back(stage);
  }
  EXPECT_GE(stumps, 20u);
  EXPECT_GE(tilted, GetParam().mode == FeatureMode::kAll ? 5u : 0u);
  RecordProperty("stumps", static_cast<int>(stumps));
  RecordProperty("tilted", static_cast<int>(tilted));
}

}  // namespace
}  // namespace cuface
