// Parts of an octave of the flow's pyramid: two versions, the same bits.
#pragma once

#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"

namespace cuface::octave {

/// Destination columns done at a time; bounds the stack and keeps what is made in the cache.
inline constexpr int kChunk = 1024;

/// The pixels of gaussian_down(src, dst) in `part`, which lies in `dst`. Vectors where the
/// processor has them.
void make(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst, Rect part);

void make_vector(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst, Rect part);

}  // namespace cuface::octave
