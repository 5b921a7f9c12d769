#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/overlay/blend_vector.cc"
#include "kernels/overlay/blend_vector.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/common/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::raster::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void tile_1(std::uint8_t*, std::ptrdiff_t, const CoverageTile&, int, int) {}
void tile_2(std::uint8_t*, std::ptrdiff_t, const CoverageTile&, int, int) {}
#else

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kPixels = 8;  // of a row at a time

/// blended() of as many samples as D has lanes, in 16 bits: (a << 7) * (b << 7) >> 16 is a * b >> 2
/// and its factors fit; a product of fixed-point numbers of 15 bits rounds as that of 14 bits does
/// when one factor is doubled.
template <class D>
HWY_INLINE void blend(D d, hn::Vec<D> coverage, std::uint8_t* at, int color, int alpha) {
  const hn::RebindToSigned<D> s;
  const hn::Rebind<std::uint8_t, D> bytes;
  const auto weight = hn::MulHigh(hn::ShiftLeft<7>(coverage),  //
                                  hn::Set(d, static_cast<std::uint16_t>(alpha << 7)));
  const auto old = hn::PromoteTo(s, hn::LoadU(bytes, at));
  const auto twice = hn::ShiftLeft<1>(hn::Sub(hn::Set(s, static_cast<std::int16_t>(color)), old));
  const auto blended = hn::Add(old, hn::MulFixedPoint15(twice, hn::BitCast(s, weight)));
  hn::StoreU(hn::DemoteTo(bytes, blended), bytes, at);
}

void tile_1(std::uint8_t* at, std::ptrdiff_t stride, const CoverageTile& tile, int color,
            int alpha) {
  const hn::FixedTag<std::uint16_t, kPixels> d;
  for (int y = 0; y < kTile; ++y, at += stride) {
    for (int x = tile.first[y] & -kPixels; x < tile.last[y]; x += kPixels)
      blend(d, hn::LoadU(d, tile.coverage[y] + x), at + x, color, alpha);
  }
}

void tile_2(std::uint8_t* at, std::ptrdiff_t stride, const CoverageTile& tile, int color,
            int alpha) {
  const hn::FixedTag<std::uint16_t, kPixels> d;
  const hn::FixedTag<std::uint16_t, kPixels / 2> half;
  const hn::FixedTag<std::uint32_t, kPixels / 2> pairs;
  const hn::RebindToSigned<decltype(pairs)> ints;
  for (int y = 0; y < kTile; y += 2, at += stride) {
    const int last = std::max(tile.last[y], tile.last[y + 1]);
    for (int x = std::min(tile.first[y], tile.first[y + 1]) & -kPixels; x < last; x += kPixels) {
      const auto two = hn::BitCast(pairs, hn::Add(hn::LoadU(d, tile.coverage[y] + x),
                                                  hn::LoadU(d, tile.coverage[y + 1] + x)));
      const auto four =
          hn::Add(hn::ShiftRight<16>(two), hn::And(two, hn::Set(pairs, std::uint32_t{0xffff})));
      const auto mean = hn::ShiftRight<2>(hn::Add(four, hn::Set(pairs, std::uint32_t{2})));
      blend(half, hn::DemoteTo(half, hn::BitCast(ints, mean)), at + x / 2, color, alpha);
    }
  }
}

#endif
}  // namespace cuface::raster::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::raster {

HWY_EXPORT(tile_1);
HWY_EXPORT(tile_2);

void blend_tile_1(std::uint8_t* at, std::ptrdiff_t stride, const CoverageTile& tile, int color,
                  int alpha) {
  CUFACE_DISPATCH(tile_1)(at, stride, tile, color, alpha);
}

void blend_tile_2(std::uint8_t* at, std::ptrdiff_t stride, const CoverageTile& tile, int color,
                  int alpha) {
  CUFACE_DISPATCH(tile_2)(at, stride, tile, color, alpha);
}

}  // namespace cuface::raster
#endif
