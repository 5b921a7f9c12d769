// Bit maps (bits.h) as bytes.
#pragma once

#include <cstdint>

#include "kernels/common/image.h"

namespace cuface {

/// Writes all of `out`: `set` where the bit is set, `clear` elsewhere. `bits` has
/// words_of(out.width) words a row, and out.height rows.
void draw_bits(ImageView<const std::uint64_t> bits, ImageView<std::uint8_t> out,
               std::uint8_t clear = 0, std::uint8_t set = 255);

}  // namespace cuface
