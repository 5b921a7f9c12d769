// The best split of a node among all features [S4.07]: the plain reference, and faster ones that
// find the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/boost/boost.h"
#include "kernels/boost/steps.h"
#include "kernels/boost/values.h"

namespace cuface::boost {

/// The samples of a node. Those of others have weight and response 0 here.
struct NodeSamples {
  std::span<const std::int32_t> weights, responses;
  BoostSums all;
  Boosting boosting = Boosting::kGentle;
};

/// A feature and how well it splits, as float. -1: no split at all.
struct FeatureQuality {
  std::size_t feature = 0;
  float quality = -1;
};

class SplitSearch {
 public:
  virtual ~SplitSearch() = default;
  /// The feature of the highest quality, of equal ones the first. A split stands between two
  /// neighbours, in the order of all samples, that differ by more than kTieGap. kCancelled once
  /// `stop` is raised; what a GPU says.
  virtual Status best(const NodeSamples& node, const StopFlag* stop, FeatureQuality& found) = 0;
  /// Waits for what make_search() of a GPU leaves it to do meanwhile. kCancelled once `stop` is
  /// raised; what a GPU says.
  virtual Status ready(const StopFlag* /*stop*/) { return {}; }
  virtual std::size_t bytes() const { return 0; }
  /// The samples by the values of a feature; equal ones in any order.
  virtual Status order_of(std::size_t feature, std::span<const float> values,
                          std::vector<std::uint32_t>& order);
};

/// Sorts all features again for each node.
std::unique_ptr<SplitSearch> make_plain_search(const FeatureBank& bank, const SampleValues& values);

/// Keeps sorted orders in so many bytes, and sorts again those that do not fit. Needs
/// simd::vectors(). Null once `stop` is raised.
std::unique_ptr<SplitSearch> make_fast_search(const FeatureBank& bank, const SampleValues& values,
                                              int threads, std::size_t memory,
                                              const StopFlag* stop);

/// Where a feature splits a node.
struct FeatureSplit {
  float quality = -1;  ///< -1: nowhere
  float threshold = 0;
};

/// Samples by value, of equal ones by number.
void sort_samples(std::span<const float> values, std::vector<std::uint32_t>& order);

/// The best split of one feature, of equal ones the lowest. `order` is sort_samples()', or one
/// where equal values stand in another order.
FeatureSplit best_split(std::span<const float> values, std::span<const std::uint32_t> order,
                        const NodeSamples& node);

}  // namespace cuface::boost
