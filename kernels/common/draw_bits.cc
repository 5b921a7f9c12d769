#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/common/draw_bits.cc"
#include "kernels/common/draw_bits.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/bits.h"
#include "kernels/common/dispatch.h"
#include "kernels/common/simd.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
int draw_vectors(const std::uint64_t*, int, std::uint8_t, std::uint8_t, std::uint8_t*) { return 0; }
#else

namespace hn = hwy::HWY_NAMESPACE;

/// As many whole vectors as there are; returns how many pixels these are.
int draw_vectors(const std::uint64_t* bits, int width, std::uint8_t clear, std::uint8_t set,
                 std::uint8_t* out) {
  const hn::ScalableTag<std::uint8_t> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto off = hn::Set(d, clear), on = hn::Set(d, set);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(bits);
  int x = 0;
  for (; x + lanes <= width; x += lanes)
    hn::StoreU(hn::IfThenElse(hn::LoadMaskBits(d, bytes + x / 8), on, off), d, out + x);
  return x;
}

#endif
}  // namespace cuface::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface {

HWY_EXPORT(draw_vectors);

void draw_bits(ImageView<const std::uint64_t> bits, ImageView<std::uint8_t> out, std::uint8_t clear,
               std::uint8_t set) {
  for (int y = 0; y < out.height; ++y) {
    std::uint8_t* row = out.row(y);
    int x = 0;
    if (simd::vectors()) x = CUFACE_DISPATCH(draw_vectors)(bits.row(y), out.width, clear, set, row);
    for (; x < out.width; ++x) row[x] = bit_at(bits, x, y) ? set : clear;
  }
}

}  // namespace cuface
#endif
