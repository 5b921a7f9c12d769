// What boosting knows of each sample between two rounds.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/boost/tree.h"

namespace cuface::boost {

class BoostState {
 public:
  BoostState(const TrainingSamples& samples, const BoostOptions& options);

  /// The weights of the next round; what is trimmed has none.
  RoundWeights round() const;

  /// Takes a tree into the stage: weights, sums, and for discrete boosting the tree's leaves, which
  /// are its error's log odds from here on. Then the threshold, the rates and the end of the stage.
  void add(GrownTree grown, BoostedStage& stage);

 private:
  void weigh(const GrownTree& grown);
  void weigh_discrete(GrownTree& grown);
  void normalise();
  void judge(BoostedStage& stage) const;

  BoostOptions options_;
  std::vector<std::uint8_t> positive_;
  std::vector<double> weights_;  ///< add up to 1
  std::vector<double> targets_;  ///< LogitBoost's responses; others' are the labels
  std::vector<double> sums_;     ///< of the stage's leaves
};

}  // namespace cuface::boost
