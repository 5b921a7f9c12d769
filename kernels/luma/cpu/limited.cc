#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/luma/cpu/limited.cc"
#include "kernels/luma/cpu/limited.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/cover-inl.h"
#include "kernels/common/dispatch.h"
#include "kernels/luma/grey.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::grey::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void expand_row(const std::uint8_t*, int, std::uint8_t*) {}
#else

namespace hn = hwy::HWY_NAMESPACE;
using cuface::HWY_NAMESPACE::cover;

using Bytes = hn::ScalableTag<std::uint8_t>;
using Shorts = hn::Repartition<std::uint16_t, Bytes>;

/// What limited() adds to a value above black.
HWY_INLINE hn::Vec<Shorts> addend(hn::Vec<Shorts> above) {
  const Shorts d;
  const auto rest = hn::Add(hn::Mul(above, hn::Set(d, 36)), hn::Set(d, 109));
  return hn::ShiftRight<7>(hn::MulHigh(rest, hn::Set(d, 38305)));
}

HWY_INLINE void expand(const std::uint8_t* in, std::uint8_t* out) {
  const Bytes d;
  const Shorts shorts;
  const auto above = hn::Min(hn::SaturatedSub(hn::LoadU(d, in), hn::Set(d, 16)), hn::Set(d, 219));
  const auto pairs = hn::BitCast(shorts, above);
  const auto low = addend(hn::And(pairs, hn::Set(shorts, 255)));
  const auto high = hn::ShiftLeft<8>(addend(hn::ShiftRight<8>(pairs)));
  hn::StoreU(hn::Add(above, hn::BitCast(d, hn::Or(low, high))), d, out);
}

void expand_row(const std::uint8_t* in, int width, std::uint8_t* out) {
  int x = cover(width, static_cast<int>(hn::Lanes(Bytes())),
                [&](int at) HWY_ATTR { expand(in + at, out + at); });
  for (; x < width; ++x) out[x] = limited(in[x], 8);
}

#endif
}  // namespace cuface::grey::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::grey {

HWY_EXPORT(expand_row);

void limited_row(const std::uint8_t* in, int width, std::uint8_t* out) {
  CUFACE_DISPATCH(expand_row)(in, width, out);
}

}  // namespace cuface::grey
#endif
