#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pyramid/octave_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/pyramid/octave.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::octave::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void make_octave(ImageView<const std::uint8_t>, ImageView<std::uint8_t>) {}
#else

namespace hn = hwy::HWY_NAMESPACE;

using Shorts = hn::ScalableTag<std::int16_t>;
using Ints = hn::Repartition<std::int32_t, Shorts>;

void vector_column_sums(const std::uint8_t* const rows[5], int first, int count,
                        std::uint16_t* sums) {
  const Shorts d;
  const hn::RebindToUnsigned<Shorts> unsigned_shorts;
  const hn::Rebind<std::uint8_t, Shorts> bytes;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = 0;
  for (; x + lanes <= count; x += lanes) {
    const auto row = [&](int k) { return hn::PromoteTo(d, hn::LoadU(bytes, rows[k] + first + x)); };
    const auto middle = row(2);
    const auto near = hn::Add(hn::Add(row(1), row(3)), middle);
    const auto sum = hn::Add(hn::Add(row(0), row(4)), hn::Add(middle, middle));
    hn::StoreU(hn::BitCast(unsigned_shorts, hn::Add(sum, hn::ShiftLeft<2>(near))), unsigned_shorts,
               sums + x);
  }
  if (x < count) column_sums(rows, first + x, count - x, sums + x);
}

/// Lane i: a[2i] * b[2i] + a[2i + 1] * b[2i + 1].
HWY_INLINE hn::Vec<Ints> pair_products(hn::Vec<Shorts> a, hn::Vec<Shorts> b) {
  const Ints d;
  auto second = hn::Zero(d);
  const auto first = hn::ReorderWidenMulAccumulate(d, a, b, hn::Zero(d), second);
  return hn::RearrangeToOddPlusEven(first, second);
}

void vector_row_sums(const std::uint16_t* sums, int count, std::uint8_t* out) {
  const Shorts d;
  const Ints ints;
  const hn::Rebind<std::uint8_t, Ints> bytes;
  const auto pairs = [&](std::int16_t even, std::int16_t odd) {
    return hn::OddEven(hn::Set(d, odd), hn::Set(d, even));
  };
  const auto left = pairs(1, 4), middle = pairs(6, 4), right = pairs(1, 0);
  const auto half = hn::Set(ints, 128);
  const auto* s = reinterpret_cast<const std::int16_t*>(sums);
  const int lanes = static_cast<int>(hn::Lanes(ints));
  int x = 0;
  for (; x + lanes < count; x += lanes, s += 2 * lanes) {  // reads up to the next four sums
    const auto sum = hn::Add(
        hn::Add(pair_products(hn::LoadU(d, s), left), pair_products(hn::LoadU(d, s + 2), middle)),
        hn::Add(pair_products(hn::LoadU(d, s + 4), right), half));
    hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<8>(sum)), bytes, out + x);
  }
  row_sums(sums + 2 * x, count - x, out + x);
}

void make_octave(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst) {
  make(src, dst, vector_column_sums, vector_row_sums);
}

#endif
}  // namespace cuface::octave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::octave {

HWY_EXPORT(make_octave);

void make_vector(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst) {
  HWY_DYNAMIC_DISPATCH(make_octave)(src, dst);
}

}  // namespace cuface::octave
#endif
