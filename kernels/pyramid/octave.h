// An octave of the flow's pyramid: the vector version of gaussian_down().
#pragma once

#include <cstdint>

#include "kernels/common/image.h"

namespace cuface::octave {

/// Destination columns done at a time; bounds the stack and keeps what is made in the cache.
inline constexpr int kChunk = 1024;

void make_vector(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst);

}  // namespace cuface::octave
