#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/luma/cpu/grey_rows.cc"
#include "kernels/luma/cpu/grey_rows.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/dispatch.h"
#include "kernels/luma/grey.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::grey::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void narrow_row(const std::uint8_t*, int, std::uint8_t*) {}
int repeat_row(const std::uint8_t*, int, std::uint8_t*, int) { return 0; }
#else

namespace hn = hwy::HWY_NAMESPACE;

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
  const int lanes = static_cast<int>(hn::Lanes(Bytes()));
  int x = 0;
  for (; x + lanes <= width; x += lanes) narrow(in + x, out + x);
  if (x < width && width >= lanes) {  // the last vector overlaps the one before
    narrow(in + width - lanes, out + width - lanes);
    x = width;
  }
  for (; x < width; ++x) out[x] = static_cast<std::uint8_t>(sample_of(in[x], 8, false));
}

int repeat_row(const std::uint8_t* in, int width, std::uint8_t* out, int pixel_stride) {
  int x = 0;
  if (pixel_stride == 3) {
    const Bytes d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const auto repeat = [&](int at) HWY_ATTR {
      const auto grey = hn::LoadU(d, in + at);
      hn::StoreInterleaved3(grey, grey, grey, d, out + 3 * at);
    };
    for (; x + lanes <= width; x += lanes) repeat(x);
    if (x == width || width < lanes) return x;
    repeat(width - lanes);  // the last vector overlaps the one before
    return width;
  }
  // The fourth byte is the one behind these three, perhaps the next pixel's own.
  const Words d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (; x + lanes < width; x += lanes) {
    const auto grey = hn::PromoteTo(d, hn::LoadU(QuarterOfBytes(), in + x));
    const auto pixels = hn::BitCast(d, hn::LoadU(Bytes(), out + 4 * x));
    const auto three = hn::Or(hn::Or(grey, hn::ShiftLeft<8>(grey)), hn::ShiftLeft<16>(grey));
    const auto written = hn::Or(three, hn::And(pixels, hn::Set(d, 0xFF000000u)));
    hn::StoreU(hn::BitCast(Bytes(), written), Bytes(), out + 4 * x);
  }
  return x;
}

#endif
}  // namespace cuface::grey::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::grey {

HWY_EXPORT(narrow_row);
HWY_EXPORT(repeat_row);

void limited_samples_row(const std::uint8_t* in, int width, std::uint8_t* out) {
  CUFACE_DISPATCH(narrow_row)(in, width, out);
}

int rgb_samples_row(const std::uint8_t* in, int width, std::uint8_t* out, int pixel_stride) {
  return CUFACE_DISPATCH(repeat_row)(in, width, out, pixel_stride);
}

}  // namespace cuface::grey
#endif
