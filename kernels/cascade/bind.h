// What binding a cascade does to its parts, for training, which knows features before there is one.
#pragma once

#include "kernels/cascade/cascade.h"

namespace cuface {

BoundFeature bind_feature(const HaarFeature& feature, const SumLayout& layout);

/// OpenCV subtracts this from every stage's threshold, in fp32.
inline constexpr float kStageSlack = 1e-5f;

}  // namespace cuface
