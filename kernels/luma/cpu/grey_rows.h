// A row of greys on its way back into 8-bit frames.
#pragma once

#include <cstdint>

namespace cuface::grey {

/// sample_of() in limited range of each of `width` greys; `out` and `in` do not overlap.
void limited_samples_row(const std::uint8_t* in, int width, std::uint8_t* out);

/// Three neighbouring bytes of each pixel, `pixel_stride` (3 or 4) bytes apart, become its grey;
/// the fourth stays. Gives how many pixels are done; the others are left to the plain version.
int rgb_samples_row(const std::uint8_t* in, int width, std::uint8_t* out, int pixel_stride);
/// The same of a row of bits (kernels/common/bits.h): 255 where the bit is set, 0 elsewhere.
int rgb_bits_row(const std::uint64_t* bits, int width, std::uint8_t* out, int pixel_stride);

}  // namespace cuface::grey
