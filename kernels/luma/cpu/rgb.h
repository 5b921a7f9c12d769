// Grey of rows of 8-bit RGB, in whatever order its bytes lie.
#pragma once

#include <cstdint>

namespace cuface::grey {

/// R, G and B of a row of pixels that are 1 (planes), 3 or 4 bytes apart.
struct RgbRow {
  const std::uint8_t* component[3];
  int pixel_stride;
};

/// rgb() of the row's first pixels by vector code; gives how many it has done. What is left at the
/// end, and all of a layout it does not know, is the plain version's.
int rgb_row_vector(const RgbRow& row, int width, std::uint8_t* out);

}  // namespace cuface::grey
