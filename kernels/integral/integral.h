// integral: sums over any upright or 45-degree rectangle in four reads (S0.09, S0.10;
// thesis 4.2.3).
//
// All three outputs are (W+1) x (H+1) and exclusive: entry (x,y) sums the pixels above and left of
// it, row 0 and column 0 are zero. Values wrap modulo 2^32; differences over any window of the
// cascades are exact all the same (trap 1). Bit-equal to OpenCV's cv::integral. Thread-safe.
#pragma once

#include <cstdint>

#include "kernels/common/image.h"

namespace cuface {

void integral(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> sum);
/// Sum and sum of squares in one pass over the picture.
void integral_squared(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> sum,
                      ImageView<std::uint32_t> squared);
/// The same with squares that never wrap: for windows of more than 255 x 255 pixels.
void integral_squared(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> sum,
                      ImageView<std::uint64_t> squared);
/// Tilted(x,y) = sum of I(x',y') with y' < y and |x' - x + 1| <= y - y' - 1 (Lienhart).
void integral_tilted(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> tilted);

}  // namespace cuface
