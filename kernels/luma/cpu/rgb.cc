#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/luma/cpu/rgb.cc"
#include "kernels/luma/cpu/rgb.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/common/cover-inl.h"
#include "kernels/common/dispatch.h"
#include "kernels/common/pair_products-inl.h"
#include "kernels/luma/cpu/fetch_ahead-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::grey::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
int weigh_row(const RgbRow&, int, std::uint8_t*) { return 0; }
#else

namespace hn = hwy::HWY_NAMESPACE;
using cuface::HWY_NAMESPACE::cover;
using cuface::HWY_NAMESPACE::pair_products;

using Bytes = hn::ScalableTag<std::uint8_t>;
using Shorts = hn::Repartition<std::int16_t, Bytes>;
using Ints = hn::Repartition<std::int32_t, Bytes>;
using HalfOfBytes = hn::Rebind<std::uint8_t, Shorts>;

/// A weight for even lanes and one for odd ones.
HWY_INLINE hn::Vec<Shorts> weights(std::int16_t even, std::int16_t odd) {
  const Shorts d;
  return hn::OddEven(hn::Set(d, odd), hn::Set(d, even));
}

int weigh_planes(const RgbRow& row, int width, std::uint8_t* out) {
  const Shorts d;
  const HalfOfBytes bytes;
  const auto one = hn::Set(d, 1);  // of the half that rounds
  const auto grey = [&](hn::Vec<Shorts> rg, hn::Vec<Shorts> b1) HWY_ATTR {
    return hn::ShiftRight<15>(hn::Add(pair_products(Ints(), rg, weights(9798, 19235)),
                                      pair_products(Ints(), b1, weights(3735, 16384))));
  };
  return cover(width, static_cast<int>(hn::Lanes(d)), [&](int x) HWY_ATTR {
    const auto load = [&](int i) HWY_ATTR {
      return hn::PromoteTo(d, hn::LoadU(bytes, row.component[i] + x));
    };
    const auto r = load(0), g = load(1), b = load(2);
    // Both interleave within blocks of 16 bytes, and so does the demotion: the order is kept.
    const auto low = grey(hn::InterleaveLower(d, r, g), hn::InterleaveLower(d, b, one));
    const auto high = grey(hn::InterleaveUpper(d, r, g), hn::InterleaveUpper(d, b, one));
    hn::StoreU(hn::DemoteTo(bytes, hn::ReorderDemote2To(d, low, high)), bytes, out + x);
  });
}

/// How bytes come to where they belong, in vectors of `kBytes`. A vector of greys is made of four
/// of pixels, which have a quarter of them each: in each block of 16 bytes four.
template <std::size_t kSize>
struct Orders {
  static constexpr int kBytes = kSize, kWords = kSize / 4, kBlocks = kSize / 16;
  /// Of three bytes a pixel: words to their blocks, where a vector begins or ends with its pixels.
  alignas(HWY_MAX_BYTES) std::int32_t begins[kSize / 4], ends[kSize / 4];
  alignas(HWY_MAX_BYTES) std::uint8_t pixels[kSize];  ///< then bytes to 32 bits a pixel
  /// Of greys: bytes in a block, then its words, each of another quarter.
  alignas(HWY_MAX_BYTES) std::uint8_t greys[kSize];
  alignas(HWY_MAX_BYTES) std::int32_t quarters[kSize / 4];

  constexpr Orders() : begins(), ends(), pixels(), greys(), quarters() {
    for (int i = 0; i < kWords; ++i) {
      begins[i] = 3 * (i / 4) + i % 4;
      ends[i] = std::min(begins[i] + kBlocks, kWords - 1);
      quarters[i] = 4 * (i % kBlocks) + i / kBlocks;
    }
    for (int i = 0; i < kBytes; ++i) {
      const int at = i % 16;
      pixels[i] = static_cast<std::uint8_t>(at / 4 * 3 + at % 4);
      greys[i] = static_cast<std::uint8_t>(at % 8 * 2 + at / 8);
    }
  }
};

/// Pixels of `kStride` bytes, three or four, whose second is green. Of four the vectors have the
/// last byte, too.
template <int kStride>
int weigh_packed(const std::uint8_t* in, bool red_first, int width, std::uint8_t* out) {
  static constexpr Orders<hn::MaxLanes(Bytes())> kOrders;
  constexpr int kBytes = kOrders.kBytes;
  const Bytes d;
  const Shorts shorts;
  const Ints ints;
  const auto begins = hn::IndicesFromVec(ints, hn::Load(ints, kOrders.begins));
  const auto ends = hn::IndicesFromVec(ints, hn::Load(ints, kOrders.ends));
  const auto quarters = hn::IndicesFromVec(ints, hn::Load(ints, kOrders.quarters));
  const auto pixels = hn::Load(d, kOrders.pixels), greys = hn::Load(d, kOrders.greys);
  const auto outer = red_first ? weights(9798, 3735) : weights(3735, 9798);
  const auto green = weights(19235, 0);
  const auto half = hn::Set(ints, 1 << 14), low_bytes = hn::Set(ints, 0x00FF00FF);
  const auto load = [&](const std::uint8_t* from, bool last) HWY_ATTR {
    fetch_ahead(from);
    if (kStride == 4) return hn::BitCast(ints, hn::LoadU(d, from));
    // What three have is less than a vector: so that nothing behind them is read, the last begins
    // before its own.
    const auto words =
        last ? hn::TableLookupLanes(hn::BitCast(ints, hn::LoadU(d, from - kBytes / 4)), ends)
             : hn::TableLookupLanes(hn::BitCast(ints, hn::LoadU(d, from)), begins);
    return hn::BitCast(ints, hn::TableLookupBytes(hn::BitCast(d, words), pixels));
  };
  return cover(width, kBytes, [&](int x) HWY_ATTR {
    const auto quarter = [&](int i) HWY_ATTR {
      const auto four = load(in + kStride * (x + i * kBytes / 4), i == 3);
      const auto even = hn::BitCast(shorts, hn::And(four, low_bytes));
      const auto odd = hn::ShiftRight<8>(hn::BitCast(hn::RebindToUnsigned<Shorts>(), four));
      const auto sum = hn::Add(pair_products(ints, even, outer),
                               pair_products(ints, hn::BitCast(shorts, odd), green));
      return hn::ShiftRight<15>(hn::Add(sum, half));
    };
    const auto low = hn::ReorderDemote2To(shorts, quarter(0), quarter(1));
    const auto high = hn::ReorderDemote2To(shorts, quarter(2), quarter(3));
    const auto both = hn::BitCast(d, hn::Or(low, hn::ShiftLeft<8>(high)));
    const auto blocks = hn::BitCast(ints, hn::TableLookupBytes(both, greys));
    hn::StoreU(hn::BitCast(d, hn::TableLookupLanes(blocks, quarters)), d, out + x);
  });
}

int weigh_row(const RgbRow& row, int width, std::uint8_t* out) {
  if (row.pixel_stride == 1) return weigh_planes(row, width, out);
  const std::uint8_t *red = row.component[0], *green = row.component[1], *blue = row.component[2];
  const std::uint8_t* first = std::min(red, blue);
  // Green is always the middle one.
  if (green != first + 1 || std::max(red, blue) != first + 2) return 0;
  if (row.pixel_stride == 3) return weigh_packed<3>(first, red == first, width, out);
  // The fourth byte may be that of the next pixel, and behind the last one is none.
  return row.pixel_stride == 4 ? weigh_packed<4>(first, red == first, width - 1, out) : 0;
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
