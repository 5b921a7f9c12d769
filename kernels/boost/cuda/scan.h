// Walks up sorted orders in device memory, and keeps the best split of all features.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/boost/cuda/order.h"
#include "kernels/boost/steps.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"

namespace cuface::cuda::boost {

/// A node's samples in device memory. Behind the last one comes one without weight.
struct DeviceNode {
  const std::int32_t* responses;
  const std::int32_t* weights;  ///< read for LogitBoost only: others' are those of the responses
  int count;
  cuface::boost::BoostSums all;
  Boosting boosting;
};

/// The best split so far: its quality's bits, then ~feature. Of equal qualities the lowest feature
/// is the largest; 0 = none. Qualities are not negative, so they sort as their bits.
using BestSplit = unsigned long long;

class ScanPlan {
 public:
  /// Of the current GPU.
  static Result<ScanPlan> create(int count, Boosting boosting);

  /// Raises *best by these orders, of `features` features from number `first` on. `bounds`, where
  /// there are any: what each is at most.
  template <typename Id>
  Status run(const OrderRows<Id>& orders, std::uint32_t first, std::uint32_t features,
             const DeviceNode& node, const float* bounds, BestSplit* best, Launcher launch) const;

 private:
  int blocks_ = 0;
  std::size_t shared_ = 0;  ///< bytes of a block; 0 = samples are read from device memory
};

}  // namespace cuface::cuda::boost
