// Bit maps (bits.h) as bytes.
#pragma once

#include <cstdint>

namespace cuface {

/// A row of `width` bytes: `set` where the bit is set, `clear` elsewhere.
void draw_bits(const std::uint64_t* bits, int width, std::uint8_t clear, std::uint8_t set,
               std::uint8_t* out);

}  // namespace cuface
