#include "kernels/boost/state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "kernels/boost/steps.h"
#include "kernels/cascade/bind.h"

namespace cuface::boost {
namespace {

/// The least weight that is not trimmed: lighter samples add up to less than 1 - rate. Finds it
/// digit by digit, by the sums of those that begin alike: a sort takes as long as half of a GPU's
/// search.
std::int32_t trim_limit(const std::vector<std::int32_t>& weights, double rate) {
  if (rate >= 1) return 0;
  constexpr int kDigitBits = 11;
  constexpr std::uint32_t kDigits = 1 << kDigitBits;
  std::int64_t rest = fixed_point(1 - rate, kWeightBits);
  std::uint32_t begin = 0;  // its first digits
  for (int shift = 2 * kDigitBits; shift >= 0; shift -= kDigitBits) {
    std::array<std::int64_t, kDigits> sums{};
    for (const std::int32_t weight : weights) {
      const std::uint32_t digits = static_cast<std::uint32_t>(weight) >> shift;
      if (digits >> kDigitBits == begin) sums[digits % kDigits] += weight;
    }
    std::uint32_t digit = 0;
    while (digit + 1 < kDigits && sums[digit] < rest) rest -= sums[digit++];
    begin = begin << kDigitBits | digit;
  }
  // The last of those with this weight may be trimmed too: then it is the next one.
  const std::int64_t found = begin;
  std::int64_t same = 0;
  std::int32_t above = INT32_MAX, most = 0;
  for (const std::int32_t weight : weights) {
    same += weight == found;
    above = weight > found ? std::min(above, weight) : above;
    most = std::max(most, weight);
  }
  if (same > 0 && rest <= (same - 1) * found) return static_cast<std::int32_t>(found);
  return std::min(above, most);
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
  // What is trimmed is as good as random: no branches.
  for (std::int32_t& weight : round.weights) weight = weight < limit ? 0 : weight;
  for (std::size_t i = 0; i < count; ++i)
    round.responses[i] = positive_[i] ? round.weights[i] : -round.weights[i];
  if (options_.boosting != Boosting::kLogit) return round;
  for (std::size_t i = 0; i < count; ++i) {
    const auto response =
        static_cast<std::int32_t>(fixed_point(weights_[i] * targets_[i], kLogitBits));
    round.responses[i] = round.weights[i] == 0 ? 0 : response;
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
  positives.reserve(sums_.size());
  for (std::size_t i = 0; i < sums_.size(); ++i)
    if (positive_[i]) positives.push_back(static_cast<float>(sums_[i]));
  const auto missed = static_cast<std::size_t>((1.0f - options_.min_hit_rate) *
                                               static_cast<float>(positives.size()));
  const auto at =
      positives.begin() + static_cast<std::ptrdiff_t>(std::min(missed, positives.size() - 1));
  std::nth_element(positives.begin(), at, positives.end());
  stage.threshold = *at;
  const auto limit = static_cast<double>(stage.threshold - kStageSlack);
  std::size_t passed = 0, positives_passed = 0;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const bool passes = !(sums_[i] < limit);
    passed += passes;
    positives_passed += passes && positive_[i] != 0;
  }
  stage.hit_rate = static_cast<float>(positives_passed) / static_cast<float>(positives.size());
  stage.false_alarm = static_cast<float>(passed - positives_passed) /
                      static_cast<float>(sums_.size() - positives.size());
  stage.end = stage.false_alarm <= options_.max_false_alarm ? StageEnd::kGoalReached
              : stage.trees.size() >= static_cast<std::size_t>(options_.max_weak_count)
                  ? StageEnd::kMostTrees
                  : StageEnd::kNotYet;
}

}  // namespace cuface::boost
