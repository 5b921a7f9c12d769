#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/luma/cpu/grey_rows.cc"
#include "kernels/luma/cpu/grey_rows.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/bits.h"
#include "kernels/common/cover-inl.h"
#include "kernels/common/dispatch.h"
#include "kernels/luma/cpu/fetch_ahead-inl.h"
#include "kernels/luma/grey.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::grey::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void narrow_row(const std::uint8_t*, int, std::uint8_t*) {}
int repeat_row(const std::uint8_t*, int, std::uint8_t*, int) { return 0; }
int draw_row(const std::uint64_t*, int, std::uint8_t*, int) { return 0; }
#else

namespace hn = hwy::HWY_NAMESPACE;
using cuface::HWY_NAMESPACE::cover;

using Bytes = hn::ScalableTag<std::uint8_t>;
using Shorts = hn::Repartition<std::uint16_t, Bytes>;
using Words = hn::Repartition<std::uint32_t, Bytes>;
using QuarterOfBytes = hn::Rebind<std::uint8_t, Words>;

/// sample_of() in limited range, less 16.
HWY_INLINE hn::Vec<Shorts> above_black(hn::Vec<Shorts> grey) {
  const Shorts d;
  const auto scaled = hn::Add(hn::Mul(grey, hn::Set(d, 219)), hn::Set(d, 127));
  return hn::ShiftRight<7>(hn::MulHigh(scaled, hn::Set(d, 32897)));  // 2^23 / 255, rounded up
}

HWY_INLINE void narrow(const std::uint8_t* in, std::uint8_t* out) {
  const Bytes d;
  const Shorts shorts;
  const auto pairs = hn::BitCast(shorts, hn::LoadU(d, in));
  const auto low = above_black(hn::And(pairs, hn::Set(shorts, 255)));
  const auto high = hn::ShiftLeft<8>(above_black(hn::ShiftRight<8>(pairs)));
  hn::StoreU(hn::Add(hn::BitCast(d, hn::Or(low, high)), hn::Set(d, 16)), d, out);
}

void narrow_row(const std::uint8_t* in, int width, std::uint8_t* out) {
  int x = cover(width, static_cast<int>(hn::Lanes(Bytes())),
                [&](int at) HWY_ATTR { narrow(in + at, out + at); });
  for (; x < width; ++x) out[x] = static_cast<std::uint8_t>(sample_of(in[x], 8, false));
}

int repeat_row(const std::uint8_t* in, int width, std::uint8_t* out, int pixel_stride) {
  if (pixel_stride == 3) {
    const Bytes d;
    return cover(width, static_cast<int>(hn::Lanes(d)), [&](int x) HWY_ATTR {
      const auto grey = hn::LoadU(d, in + x);
      hn::StoreInterleaved3(grey, grey, grey, d, out + 3 * x);
    });
  }
  // The fourth byte is the one behind these three, perhaps the next pixel's own.
  const Words d;
  return cover(width - 1, static_cast<int>(hn::Lanes(d)), [&](int x) HWY_ATTR {
    const auto grey = hn::PromoteTo(d, hn::LoadU(QuarterOfBytes(), in + x));
    const auto pixels = hn::BitCast(d, hn::LoadU(Bytes(), out + 4 * x));
    const auto three = hn::Or(hn::Or(grey, hn::ShiftLeft<8>(grey)), hn::ShiftLeft<16>(grey));
    const auto written = hn::Or(three, hn::And(pixels, hn::Set(d, 0xFF000000u)));
    hn::StoreU(hn::BitCast(Bytes(), written), Bytes(), out + 4 * x);
  });
}

/// Of each byte of 64 pixels of `kStride` bytes: where the pixel's bit is.
template <int kStride>
struct BitOfByte {
  alignas(HWY_MAX_BYTES) std::uint8_t byte[std::size_t{64} * kStride],
      bit[std::size_t{64} * kStride];
  constexpr BitOfByte() : byte(), bit() {
    for (int i = 0; i < 64 * kStride; ++i) {
      byte[i] = static_cast<std::uint8_t>(i / kStride / 8);
      bit[i] = static_cast<std::uint8_t>(1 << i / kStride % 8);
    }
  }
};

/// `count` bits from x on, 64 at most, and then others.
HWY_INLINE std::uint64_t bits_from(const std::uint64_t* bits, int x, int count) {
  const std::uint64_t* word = bits + x / kWordBits;
  const int at = x % kWordBits;
  return at + count <= kWordBits ? word[0] >> at : word[0] >> at | word[1] << (kWordBits - at);
}

template <int kStride>
int draw_pixels(const std::uint64_t* bits, int width, std::uint8_t* out) {
  static constexpr BitOfByte<kStride> kWhere;
  // Frames begin anywhere, and of longer vectors each would lie in two lines of the cache.
  const hn::CappedTag<std::uint8_t, 32> d;
  const hn::Repartition<std::uint64_t, decltype(d)> longs;
  const hn::Repartition<std::uint32_t, decltype(d)> words;
  const int lanes = static_cast<int>(hn::Lanes(d));
  return cover(width, lanes, [&](int x) HWY_ATTR {
    const auto all = hn::BitCast(d, hn::Set(longs, bits_from(bits, x, lanes)));
    for (int i = 0; i < kStride; ++i) {
      const auto here = hn::TableLookupBytes(all, hn::Load(d, kWhere.byte + i * lanes));
      const auto is = hn::TestBit(here, hn::Load(d, kWhere.bit + i * lanes));
      std::uint8_t* to = out + kStride * x + i * lanes;
      fetch_ahead(to);
      auto pixels = hn::VecFromMask(d, is);
      if constexpr (kStride == 4)
        pixels = hn::IfVecThenElse(hn::BitCast(d, hn::Set(words, 0xFF000000u)), hn::LoadU(d, to),
                                   pixels);
      hn::StoreU(pixels, d, to);
    }
  });
}

int draw_row(const std::uint64_t* bits, int width, std::uint8_t* out, int pixel_stride) {
  // The fourth byte is the one behind these three, and behind the last pixel is none.
  return pixel_stride == 3 ? draw_pixels<3>(bits, width, out)
                           : draw_pixels<4>(bits, width - 1, out);
}

#endif
}  // namespace cuface::grey::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::grey {

HWY_EXPORT(narrow_row);
HWY_EXPORT(repeat_row);
HWY_EXPORT(draw_row);

void limited_samples_row(const std::uint8_t* in, int width, std::uint8_t* out) {
  CUFACE_DISPATCH(narrow_row)(in, width, out);
}

int rgb_samples_row(const std::uint8_t* in, int width, std::uint8_t* out, int pixel_stride) {
  return CUFACE_DISPATCH(repeat_row)(in, width, out, pixel_stride);
}

int rgb_bits_row(const std::uint64_t* bits, int width, std::uint8_t* out, int pixel_stride) {
  return CUFACE_DISPATCH(draw_row)(bits, width, out, pixel_stride);
}

}  // namespace cuface::grey
#endif
