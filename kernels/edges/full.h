// The published convolution before edges [S1.01]: its result is larger than the picture by the
// filter, with zeros outside, and cut to integers.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/edges/edges.h"

namespace cuface::edges {

/// How far around a picture edges may come of it, and a pixel more.
int full_margin(const EdgeConfig& config);

/// `dst` := the whole convolution with the weights (gaussian_weights()) along both sides, cut; its
/// middle is the picture, and around it are `margin` pixels more on each side, at least half as
/// many as there are weights.
void blur_full(ImageView<const std::uint8_t> src, const std::vector<int>& weights, int margin,
               ImageView<std::uint8_t> dst);

}  // namespace cuface::edges
