#include "kernels/boost/state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/boost/steps.h"
#include "kernels/cascade/bind.h"

namespace cuface::boost {
namespace {

/// The least weight that is not trimmed: lighter samples add up to less than 1 - rate. Sorts only
/// the weights that begin as that one does: a whole sort takes as long as a GPU's search.
std::int32_t trim_limit(const std::vector<std::int32_t>& weights, double rate) {
  if (rate >= 1) return 0;
  constexpr int kLowBits = 19;
  constexpr std::size_t kParts = std::size_t{1} << (31 - kLowBits);
  const auto part_of = [](std::int32_t weight) {
    return static_cast<std::size_t>(weight >> kLowBits);
  };
  std::vector<std::int64_t> sums(kParts);
  for (const std::int32_t weight : weights) sums[part_of(weight)] += weight;
  std::int64_t rest = fixed_point(1 - rate, kWeightBits);
  std::size_t part = 0;
  while (part + 1 < kParts && sums[part] < rest) rest -= sums[part++];
  std::vector<std::int32_t> near;
  std::int32_t above = 0, most = 0;  // the lightest of later parts, and the heaviest of all
  for (const std::int32_t weight : weights) {
    most = std::max(most, weight);
    if (part_of(weight) == part) near.push_back(weight);
    if (part_of(weight) > part) above = above == 0 ? weight : std::min(above, weight);
  }
  std::sort(near.begin(), near.end());
  for (const std::int32_t weight : near) {
    if (rest <= 0) return weight;
    rest -= weight;
  }
  return above > 0 ? above : most;
}

}  // namespace

BoostState::BoostState(const TrainingSamples& samples, const BoostOptions& options)
    : options_(options),
      positive_(samples.labels.begin(), samples.labels.end()),
      weights_(samples.count(), 1 / static_cast<double>(samples.count())),
      targets_(samples.count()),
      sums_(samples.count()) {
  // LogitBoost begins with the responses of a probability of one half.
  for (std::size_t i = 0; i < targets_.size(); ++i)
    targets_[i] = logit_target(positive_[i] != 0, 0).response;
}

RoundWeights BoostState::round() const {
  const std::size_t count = weights_.size();
  RoundWeights round{std::vector<std::int32_t>(count), std::vector<std::int32_t>(count)};
  for (std::size_t i = 0; i < count; ++i)
    round.weights[i] = static_cast<std::int32_t>(fixed_point(weights_[i], kWeightBits));
  const std::int32_t limit = trim_limit(round.weights, options_.weight_trim_rate);
  for (std::size_t i = 0; i < count; ++i) {
    if (round.weights[i] < limit) round.weights[i] = 0;
    if (round.weights[i] == 0) continue;
    round.responses[i] =
        options_.boosting == Boosting::kLogit
            ? static_cast<std::int32_t>(fixed_point(weights_[i] * targets_[i], kLogitBits))
            : (positive_[i] ? round.weights[i] : -round.weights[i]);
  }
  return round;
}

void BoostState::add(GrownTree grown, BoostedStage& stage) {
  if (options_.boosting == Boosting::kDiscrete)
    weigh_discrete(grown);
  else
    weigh(grown);
  normalise();
  for (std::size_t i = 0; i < sums_.size(); ++i)
    sums_[i] += static_cast<double>(grown.tree.leaves[grown.leaves[i]]);
  stage.trees.push_back(std::move(grown.tree));
  judge(stage);
}

// Every sample votes on the error, the trimmed ones too.
void BoostState::weigh_discrete(GrownTree& grown) {
  std::vector<float>& leaves = grown.tree.leaves;
  const auto is_wrong = [&](std::size_t i) {
    return (leaves[grown.leaves[i]] > 0) != (positive_[i] != 0);
  };
  std::int64_t wrong = 0, all = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const std::int64_t weight = fixed_point(weights_[i], kWeightBits);
    all += weight;
    if (is_wrong(i)) wrong += weight;
  }
  const double right = 1 - static_cast<double>(wrong) / static_cast<double>(all);
  const double bounded = std::fmin(std::fmax(right, kLeastError), 1 - kLeastError);
  const double factor = bounded / (1 - bounded);
  for (std::size_t i = 0; i < weights_.size(); ++i)
    if (is_wrong(i)) weights_[i] *= factor;
  const auto vote = static_cast<float>(log_odds(right));
  for (float& leaf : leaves) leaf = leaf > 0 ? vote : -vote;
}

void BoostState::weigh(const GrownTree& grown) {
  const std::vector<float>& leaves = grown.tree.leaves;
  if (options_.boosting == Boosting::kLogit) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const double sum = 0.5 * (sums_[i] + static_cast<double>(leaves[grown.leaves[i]]));
      const LogitTarget target = logit_target(positive_[i] != 0, sum);
      weights_[i] = target.weight;
      targets_[i] = target.response;
    }
    return;
  }
  std::vector<double> factors[2];  // of negatives, of positives; for each leaf
  for (const float leaf : leaves) {
    factors[0].push_back(static_cast<double>(exponential(leaf)));
    factors[1].push_back(static_cast<double>(exponential(-leaf)));
  }
  for (std::size_t i = 0; i < weights_.size(); ++i)
    weights_[i] *= factors[positive_[i]][grown.leaves[i]];
}

void BoostState::normalise() {
  std::int64_t total = 0;
  for (const double weight : weights_) total += fixed_point(weight, kTotalBits);
  const double factor =
      static_cast<double>(std::int64_t{1} << kTotalBits) / static_cast<double>(total);
  for (double& weight : weights_) weight *= factor;
}

// As opencv_traincascade: the threshold that enough positives reach, and who else reaches it.
void BoostState::judge(BoostedStage& stage) const {
  std::vector<float> positives;
  for (std::size_t i = 0; i < sums_.size(); ++i)
    if (positive_[i]) positives.push_back(static_cast<float>(sums_[i]));
  const auto missed = static_cast<std::size_t>((1.0f - options_.min_hit_rate) *
                                               static_cast<float>(positives.size()));
  const auto at =
      positives.begin() + static_cast<std::ptrdiff_t>(std::min(missed, positives.size() - 1));
  std::nth_element(positives.begin(), at, positives.end());
  stage.threshold = *at;
  const auto limit = static_cast<double>(stage.threshold - kStageSlack);
  std::size_t passed[2] = {}, all[2] = {};
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    ++all[positive_[i]];
    passed[positive_[i]] += sums_[i] < limit ? std::size_t{0} : 1;
  }
  stage.hit_rate = static_cast<float>(passed[1]) / static_cast<float>(all[1]);
  stage.false_alarm = static_cast<float>(passed[0]) / static_cast<float>(all[0]);
  stage.end = stage.false_alarm <= options_.max_false_alarm ? StageEnd::kGoalReached
              : stage.trees.size() >= static_cast<std::size_t>(options_.max_weak_count)
                  ? StageEnd::kMostTrees
                  : StageEnd::kNotYet;
}

}  // namespace cuface::boost
