// Grey of one pixel: the formulas of the contract, shared by the CPU and CUDA versions of luma, and
// the way back (write.h).
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"

namespace cuface::grey {

/// One sample as a number: a byte, or a little-endian word shifted to its `depth` significant bits.
CUFACE_HD constexpr std::uint32_t sample(const std::uint8_t* p, int depth, int shift) {
  if (depth == 8) return *p;
  return (static_cast<std::uint32_t>(p[0] | (p[1] << 8)) >> shift) & ((1u << depth) - 1);
}

/// An 8-bit grey level as a sample: the highest bits are repeated below, so that white is all ones.
CUFACE_HD constexpr std::uint32_t sample_of(std::uint8_t grey, int depth, bool full_range) {
  const int more = depth - 8;
  if (!full_range) return (16 + (std::uint32_t{grey} * 219 + 127) / 255) << more;
  return std::uint32_t{grey} << more | std::uint32_t{grey} >> (8 - more);
}
CUFACE_HD constexpr std::uint32_t neutral_chroma(int depth) { return 1u << (depth - 1); }

/// Writes a sample, as sample() reads it.
CUFACE_HD constexpr void put(std::uint8_t* p, int depth, int shift, std::uint32_t value) {
  const std::uint32_t word = value << shift;
  p[0] = static_cast<std::uint8_t>(word);
  if (depth > 8) p[1] = static_cast<std::uint8_t>(word >> 8);
}

/// Full-range grey of one luma sample of `depth` bits.
CUFACE_HD constexpr std::uint8_t full(std::uint32_t v, int depth) {
  return static_cast<std::uint8_t>(v >> (depth - 8));
}

/// Limited range (16..235 at 8 bits) expanded to 0..255, halves rounded up. The contract's
/// clamp(((v - black) * 255 + white/2) / white), with the division done on 36/219 of the value only
/// (255 = 219 + 36) so that 8 bits fit 16-bit arithmetic.
CUFACE_HD constexpr std::uint8_t limited(std::uint32_t v, int depth) {
  if (depth == 8) {
    const auto above = static_cast<std::uint16_t>(v < 16 ? 0 : (v > 235 ? 235u - 16u : v - 16));
    const auto rest = static_cast<std::uint16_t>(above * 36 + 109);
    // rest / 219 for every rest <= 219 * 36 + 109: 38305 = ceil(2^23 / 219), checked below.
    const auto quotient = static_cast<std::uint16_t>((std::uint32_t{rest} * 38305u) >> 23);
    return static_cast<std::uint8_t>(above + quotient);
  }
  const std::uint32_t black = 16u << (depth - 8);
  const std::uint32_t span = 219u << (depth - 8);
  const std::uint32_t above = v < black ? 0 : (v > black + span ? span : v - black);
  return static_cast<std::uint8_t>((above * 255 + span / 2) / span);
}

constexpr bool short_division_is_exact() {
  for (std::uint32_t v = 16; v <= 235; ++v)
    if (limited(v, 8) != ((v - 16) * 255 + 109) / 219) return false;
  return true;
}
static_assert(short_division_is_exact());

/// OpenCV's weights and rounding of COLOR_RGB2GRAY, of samples cut to 8 bits.
CUFACE_HD constexpr std::uint8_t rgb(std::uint32_t r, std::uint32_t g, std::uint32_t b) {
  return static_cast<std::uint8_t>((9798 * r + 19235 * g + 3735 * b + 16384) >> 15);
}

}  // namespace cuface::grey
