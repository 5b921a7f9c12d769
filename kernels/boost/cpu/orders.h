// Sorted orders of features, sixteen side by side: a vector walks up as many features at once as it
// has lanes, and each lane only adds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/boost/search.h"
#include "kernels/boost/values.h"

namespace cuface::boost {

inline constexpr std::size_t kGroup = 16;

/// The orders of kGroup features: at each place a sample of each, and a bit for each that says
/// whether a split may stand behind that place. Behind the last place none may.
template <typename Id>
struct GroupOrder {
  Id* ids = nullptr;               ///< kGroup for each place
  std::uint16_t* apart = nullptr;  ///< one for each place
};

/// Sorts features. One for each thread.
class OrderMaker {
 public:
  OrderMaker(const FeatureBank& bank, const SampleValues& values);

  /// The orders of the features from `first` on; behind the last one of the bank it comes again.
  template <typename Id>
  void make(std::size_t first, const GroupOrder<Id>& order);

 private:
  void sort();

  const FeatureBank& bank_;
  const SampleValues& values_;
  std::vector<float> of_feature_;
  std::vector<std::uint64_t> keys_, other_;  ///< value, then sample
};

}  // namespace cuface::boost
