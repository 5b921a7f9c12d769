// The usual video: bytes of limited range, side by side.
#pragma once

#include <cstdint>

namespace cuface::grey {

/// limited() of each of `width` bytes by vector code; `out` and `in` do not overlap.
void limited_row(const std::uint8_t* in, int width, std::uint8_t* out);

}  // namespace cuface::grey
