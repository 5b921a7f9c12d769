// Bit maps: a picture of one bit a pixel. Bit x % 64 of a row's word x / 64 is pixel x; the bits
// behind the last pixel of a row are 0. Views of them are ImageView<std::uint64_t>, with the width
// in words.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"

namespace cuface {

inline constexpr int kWordBits = 64;

CUFACE_HD inline int words_of(int width) { return (width + kWordBits - 1) / kWordBits; }

/// The bits of word `word` that are pixels `first` to `end`, `end` without.
CUFACE_HD inline std::uint64_t bits_between(int word, int first, int end) {
  const int low = first - word * kWordBits, high = end - word * kWordBits;
  if (high <= 0 || low >= kWordBits || high <= low) return 0;
  const std::uint64_t from = low <= 0 ? ~std::uint64_t{0} : ~std::uint64_t{0} << low;
  const std::uint64_t to = high >= kWordBits ? ~std::uint64_t{0} : ~(~std::uint64_t{0} << high);
  return from & to;
}

CUFACE_HD inline bool bit_at(const ImageView<const std::uint64_t>& map, int x, int y) {
  return (map.row(y)[x / kWordBits] >> x % kWordBits & 1) != 0;
}

inline void set_bit(std::uint64_t* row, int x) {
  row[x / kWordBits] |= std::uint64_t{1} << x % kWordBits;
}

/// A bit for each byte of a row that is not 0, plainly.
inline void pack_row(const std::uint8_t* bytes, int width, std::uint64_t* bits) {
  for (int i = 0; i < words_of(width); ++i) bits[i] = 0;
  for (int x = 0; x < width; ++x)
    if (bytes[x] != 0) set_bit(bits, x);
}

}  // namespace cuface
