#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/motion/half.cc"
#include "kernels/motion/half.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/dispatch.h"
#include "kernels/common/simd.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::motion::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
int halve_row(const std::uint8_t*, const std::uint8_t*, int, std::uint8_t*) { return 0; }
#else

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<std::uint8_t>;
using Shorts = hn::RepartitionToWide<Lanes>;

/// Means of what two rows have from `at` on, as numbers of 16 bits.
HWY_INLINE hn::Vec<Shorts> means(const std::uint8_t* above, const std::uint8_t* below, int at) {
  const Shorts d;
  const auto sums = [&](const std::uint8_t* row) HWY_ATTR {
    const auto pairs = hn::BitCast(d, hn::LoadU(Lanes(), row + at));
    return hn::Add(hn::And(pairs, hn::Set(d, 255)), hn::ShiftRight<8>(pairs));
  };
  return hn::ShiftRight<2>(hn::Add(hn::Add(sums(above), sums(below)), hn::Set(d, 2)));
}

/// As many whole vectors of `width` means as there are; returns how many means these are.
int halve_row(const std::uint8_t* above, const std::uint8_t* below, int width, std::uint8_t* out) {
  const Lanes d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    const auto first = hn::BitCast(d, means(above, below, 2 * x));
    const auto second = hn::BitCast(d, means(above, below, 2 * x + lanes));
    hn::StoreU(hn::ConcatEven(d, second, first), d, out + x);
  }
  return x;
}

#endif
}  // namespace cuface::motion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace cuface::motion {

HWY_EXPORT(halve_row);

void halve(ImageView<const std::uint8_t> picture, ImageView<std::uint8_t> half) {
  for (int y = 0; y < half.height; ++y) {
    const std::uint8_t* above = picture.row(2 * y);
    const std::uint8_t* below = 2 * y + 1 < picture.height ? picture.row(2 * y + 1) : above;
    int x = 0;
    if (simd::vectors())
      x = CUFACE_DISPATCH(halve_row)(above, below, picture.width / 2, half.row(y));
    for (; x < half.width; ++x) half.row(y)[x] = half_at(picture, x, y);
  }
}

}  // namespace cuface::motion
#endif
