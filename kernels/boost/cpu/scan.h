// Walks up sorted orders: the quality of the best split of each feature of a group.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/boost/cpu/orders.h"
#include "kernels/boost/search.h"

namespace cuface::boost {

/// Writes kGroup qualities, as best_split() has them. Those below `least`, 0 or more, may be any
/// lower number: no division is spent on what another feature beats. Needs simd::vectors().
template <typename Id>
void scan_group(const GroupOrder<Id>& order, const NodeSamples& node, float least,
                float* qualities);

}  // namespace cuface::boost
