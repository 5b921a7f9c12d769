#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/luma/cpu/rgb.cc"
#include "kernels/luma/cpu/rgb.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/common/dispatch.h"
#include "kernels/common/pair_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::grey::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
int weigh_row(const RgbRow&, int, std::uint8_t*) { return 0; }
#else

namespace hn = hwy::HWY_NAMESPACE;
using cuface::HWY_NAMESPACE::pair_products;

using Shorts = hn::ScalableTag<std::int16_t>;
using Ints = hn::Repartition<std::int32_t, Shorts>;
using Bytes = hn::Rebind<std::uint8_t, Shorts>;
using ByteVector = hn::Vec<Bytes>;
using ShortVector = hn::Vec<Shorts>;

/// A weight for even lanes and one for odd ones.
HWY_INLINE ShortVector weights(std::int16_t even, std::int16_t odd) {
  const Shorts d;
  return hn::OddEven(hn::Set(d, odd), hn::Set(d, even));
}

/// rgb() of a vector of pixels.
HWY_INLINE void weigh(ByteVector red, ByteVector green, ByteVector blue, std::uint8_t* out) {
  const Shorts d;
  const auto r = hn::PromoteTo(d, red), g = hn::PromoteTo(d, green), b = hn::PromoteTo(d, blue);
  const auto one = hn::Set(d, 1);  // of the half that rounds
  const auto grey = [&](ShortVector rg, ShortVector b1) {
    return hn::ShiftRight<15>(hn::Add(pair_products(Ints(), rg, weights(9798, 19235)),
                                      pair_products(Ints(), b1, weights(3735, 16384))));
  };
  // Both interleave within blocks of 16 bytes, and so does the demotion: the order is kept.
  const auto low = grey(hn::InterleaveLower(d, r, g), hn::InterleaveLower(d, b, one));
  const auto high = grey(hn::InterleaveUpper(d, r, g), hn::InterleaveUpper(d, b, one));
  hn::StoreU(hn::DemoteTo(Bytes(), hn::ReorderDemote2To(d, low, high)), Bytes(), out);
}

/// `load(x, r, g, b)` reads a vector of pixels from x on, which may touch a byte beyond the last of
/// them: so at least one pixel is left over.
template <typename Load>
HWY_INLINE int weigh_all(int width, std::uint8_t* out, Load load) {
  const int lanes = static_cast<int>(hn::Lanes(Shorts()));
  int x = 0;
  const auto take = [&]() HWY_ATTR {
    ByteVector r, g, b;
    load(x, r, g, b);
    weigh(r, g, b, out + x);
    x += lanes;
  };
  while (x + lanes < width) take();
  if (x + 1 < width && lanes < width) {
    x = width - lanes - 1;  // the last vector overlaps the one before
    take();
  }
  return x;
}

int weigh_row(const RgbRow& row, int width, std::uint8_t* out) {
  const Bytes d;
  // Not a structured binding: clang before 16 lets no lambda capture one.
  const std::uint8_t *red = row.component[0], *green = row.component[1], *blue = row.component[2];
  const std::uint8_t* first = std::min({red, green, blue});
  if (row.pixel_stride == 1) {
    return weigh_all(width, out, [&](int x, ByteVector& r, ByteVector& g, ByteVector& b) {
      r = hn::LoadU(d, red + x);
      g = hn::LoadU(d, green + x);
      b = hn::LoadU(d, blue + x);
    });
  }
  // Green is always the middle one.
  if (green != first + 1 || std::max(red, blue) != first + 2) return 0;
  const bool red_first = red == first;
  const auto ordered = [&](ByteVector a, ByteVector c, ByteVector& r, ByteVector& b) {
    r = red_first ? a : c;
    b = red_first ? c : a;
  };
  if (row.pixel_stride == 3) {
    return weigh_all(width, out, [&](int x, ByteVector& r, ByteVector& g, ByteVector& b) {
      ByteVector a, c;
      hn::LoadInterleaved3(d, first + 3 * x, a, g, c);
      ordered(a, c, r, b);
    });
  }
  if (row.pixel_stride == 4) {
    return weigh_all(width, out, [&](int x, ByteVector& r, ByteVector& g, ByteVector& b) {
      ByteVector a, c, unused;
      hn::LoadInterleaved4(d, first + 4 * x, a, g, c, unused);
      ordered(a, c, r, b);
    });
  }
  return 0;
}

#endif
}  // namespace cuface::grey::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::grey {

HWY_EXPORT(weigh_row);

int rgb_row_vector(const RgbRow& row, int width, std::uint8_t* out) {
  return CUFACE_DISPATCH(weigh_row)(row, width, out);
}

}  // namespace cuface::grey
#endif
