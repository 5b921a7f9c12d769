// The blur and the gradients of a row, for vector code; to be included for each target.
#if defined(CUFACE_EDGE_GRADIENTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUFACE_EDGE_GRADIENTS_INL_H
#undef CUFACE_EDGE_GRADIENTS_INL_H
#else
#define CUFACE_EDGE_GRADIENTS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "kernels/common/border.h"
#include "kernels/common/cover-inl.h"
#include "kernels/common/pair_products-inl.h"
#include "kernels/convolve/convolve.h"
#include "kernels/edges/cpu/rows.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::edges::HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;
using cuface::HWY_NAMESPACE::pair_products;

using Shorts = hn::ScalableTag<std::int16_t>;
using Words = hn::RepartitionToWide<Shorts>;
using BytesOfShorts = hn::Rebind<std::uint8_t, Shorts>;
using BytesOfWords = hn::Rebind<std::uint8_t, Words>;
using ShortsOfWords = hn::Rebind<std::int16_t, Words>;

/// What the weights of a narrow blur have in common.
constexpr int kNarrowUnit = 16;

/// cover() of all pixels, for rows that end with the picture: where a vector is longer `f` may
/// write beyond them.
template <typename F>
HWY_INLINE void cover_all(int width, int lanes, F f) {
  if (cuface::HWY_NAMESPACE::cover(width, lanes, f) < width) f(0);
}

/// The pixels of a row of the picture, or of a blurred one.
HWY_INLINE hn::Vec<Shorts> load_pixels(const std::uint8_t* from) {
  return hn::PromoteTo(Shorts(), hn::LoadU(BytesOfShorts(), from));
}
HWY_INLINE hn::Vec<Shorts> load_pixels(const std::int16_t* from) {
  return hn::LoadU(Shorts(), from);
}

/// Rows of bytes that end with the picture, where a vector is longer than they are: copies.
class ShortRows {
 public:
  /// Blurred rows have room behind them.
  static const std::int16_t* const* widen(const std::int16_t* const* rows, int, int) {
    return rows;
  }

  /// The rows, or copies that live as long as this.
  const std::uint8_t* const* widen(const std::uint8_t* const* rows, int count, int width) {
    if (width >= static_cast<int>(hn::Lanes(Shorts()))) return rows;
    for (int i = 0; i < count; ++i) {
      std::fill(std::copy_n(rows[i], width, copies_[i]), std::end(copies_[i]), std::uint8_t{0});
      rows_[i] = copies_[i];
    }
    return rows_;
  }

 private:
  // Left undefined: to clear them for each row took a twentieth of the time of edges.
  const std::uint8_t* rows_[kMostBlur];
  std::uint8_t copies_[kMostBlur][HWY_MAX_BYTES];
};

/// Sums of the blur down the rows are up to 255 * 256: less this they are signed 16 bits.
constexpr int kSumOffset = 1 << 15;

/// The blur down the rows, less kSumOffset.
inline void blur_down(const std::uint8_t* const* given, const std::vector<int>& weights, int width,
                      std::int16_t* out) {
  const hn::RebindToUnsigned<Shorts> d;
  const auto offset = hn::Set(d, std::uint16_t{kSumOffset});
  const int size = static_cast<int>(weights.size()), half = size / 2;
  ShortRows copies;
  const auto rows = copies.widen(given, size, width);
  const auto weight = [&](int i) {
    return hn::Set(d, static_cast<std::uint16_t>(weights[static_cast<std::size_t>(i)]));
  };
  cover_all(width, static_cast<int>(hn::Lanes(d)), [&](int x) {
    const auto row = [&](int i) {
      return hn::PromoteTo(d, hn::LoadU(BytesOfShorts(), rows[i] + x));
    };
    auto sum = hn::Mul(row(half), weight(half));
    for (int i = 0; i < half; ++i)
      sum = hn::Add(sum, hn::Mul(hn::Add(row(i), row(size - 1 - i)), weight(i)));
    hn::StoreU(hn::BitCast(Shorts(), hn::Xor(sum, offset)), Shorts(), out + x);
  });
}

/// Makes what the blur along a row reads beside it.
inline void reflect_ends(std::int16_t* row, int half, int width) {
  for (int i = 1; i <= half; ++i) {
    row[-i] = row[reflect_101(-i, width)];
    row[width - 1 + i] = row[reflect_101(width - 1 + i, width)];
  }
}

/// The blur along a row of these sums, rounded. Pairs of 16-bit products are added at once: those
/// that begin at even pixels are the sums of even pixels, the others those of odd ones. Calls
/// use(x, pixels) for each vector.
template <typename F>
void blur_across(std::int16_t* sums, const std::vector<int>& weights, int width, std::int16_t* out,
                 F use) {
  const Shorts d;
  const Words words;
  const int size = static_cast<int>(weights.size()), half = size / 2;
  reflect_ends(sums, half, width);
  // Of 2 * kBlurBits; weights add up to 1 << kBlurBits.
  const auto first = hn::Set(words, (kSumOffset << kBlurBits) + (1 << (2 * kBlurBits - 1)));
  const auto high = hn::Set(words, static_cast<std::int32_t>(0xffff0000));
  std::int32_t pairs[kMostBlur];
  for (int i = 0; i < size; i += 2) {
    const int next = i + 1 < size ? weights[static_cast<std::size_t>(i + 1)] : 0;
    pairs[i] = next << 16 | weights[static_cast<std::size_t>(i)];
  }
  for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(d))) {
    auto even = first, odd = first;
    for (int i = 0; i < size; i += 2) {
      const std::int16_t* from = sums + x + i - half;
      const auto pair = hn::BitCast(d, hn::Set(words, pairs[i]));
      even = hn::Add(even, pair_products(words, hn::LoadU(d, from), pair));
      odd = hn::Add(odd, pair_products(words, hn::LoadU(d, from + 1), pair));
    }
    static_assert(2 * kBlurBits == 16, "the upper halves are the results");
    const auto both = hn::Or(hn::ShiftRight<16>(even), hn::And(odd, high));
    hn::StoreU(hn::BitCast(d, both), d, out + x);
    use(x, hn::BitCast(d, both));
  }
}

/// A blur of kSize pixels whose weights are multiples of kNarrowUnit, as those of 3 and 5 are:
/// without that factor its sums fit 16 bits both ways. kUnit: those at the ends are that factor.
template <int kSize, bool kUnit>
struct NarrowBlur {
  static constexpr int kHalf = kSize / 2, kBits = 8;
  static_assert(kNarrowUnit * kNarrowUnit == 1 << (2 * kBlurBits - kBits));
  using Unsigned = hn::RebindToUnsigned<Shorts>;

  HWY_INLINE explicit NarrowBlur(const std::vector<int>& weights) {
    for (int i = 0; i <= kHalf; ++i)
      weight[i] =
          hn::Set(Unsigned(),
                  static_cast<std::uint16_t>(weights[static_cast<std::size_t>(i)] / kNarrowUnit));
  }

  /// Of row(i) + x, i from 0 to kSize - 1.
  template <typename F>
  HWY_INLINE hn::Vec<Unsigned> sum(int x, F row) const {
    const auto at = [&](int i) HWY_ATTR {
      return hn::BitCast(Unsigned(), hn::LoadU(Shorts(), row(i) + x));
    };
    auto all = hn::Mul(at(kHalf), weight[kHalf]);
    for (int i = 0; i < kHalf; ++i) {
      const auto both = hn::Add(at(i), at(kSize - 1 - i));
      all = hn::Add(all, kUnit && i == 0 ? both : hn::Mul(both, weight[i]));
    }
    return all;
  }

  /// Along a row: its sums. `wide` has room for the row and margins.
  HWY_INLINE void along(const std::uint8_t* given, int width, std::int16_t* wide,
                        std::int16_t* out) const {
    const int lanes = static_cast<int>(hn::Lanes(Shorts()));
    ShortRows copies;
    const std::uint8_t* row = copies.widen(&given, 1, width)[0];
    cover_all(width, lanes,
              [&](int x) HWY_ATTR { hn::StoreU(load_pixels(row + x), Shorts(), wide + x); });
    reflect_ends(wide, kHalf, width);
    for (int x = 0; x < width; x += lanes) {
      const auto all = sum(x, [&](int i) HWY_ATTR { return wide + i - kHalf; });
      hn::StoreU(hn::BitCast(Shorts(), all), Shorts(), out + x);
    }
  }

  /// Down these sums, rounded. Calls use(x, pixels) for each vector.
  template <typename F>
  HWY_INLINE void down(const std::int16_t* const* given, int width, std::int16_t* out,
                       F use) const {
    const std::int16_t* rows[std::size_t{kSize}];  // in registers: a store might write to these
    std::copy_n(given, kSize, rows);
    const auto rounding = hn::Set(Unsigned(), 1 << (kBits - 1));
    for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(Shorts()))) {
      const auto all = sum(x, [&](int i) HWY_ATTR { return rows[i]; });
      const auto pixels = hn::BitCast(Shorts(), hn::ShiftRight<kBits>(hn::Add(all, rounding)));
      hn::StoreU(pixels, Shorts(), out + x);
      use(x, pixels);
    }
  }

  hn::Vec<Unsigned> weight[std::size_t{kHalf} + 1];
};

/// The taps of a gradient from its middle on, in vectors: a store might write to the rules, for all
/// that a compiler knows. Slopes of three taps are 1.
template <int kTaps>
struct Taps {
  static constexpr int kHalf = kTaps / 2;
  HWY_INLINE explicit Taps(const EdgeRules& rules) {
    for (int i = 0; i <= kHalf; ++i) {
      smooth[i] = hn::Set(Shorts(), static_cast<std::int16_t>(rules.smooth[kHalf + i]));
      slope[i] = hn::Set(Shorts(), static_cast<std::int16_t>(rules.slope[kHalf + i]));
    }
  }
  HWY_INLINE hn::Vec<Shorts> sloped(hn::Vec<Shorts> step, int i) const {
    return kTaps == 3 ? step : hn::Mul(step, slope[i]);
  }
  hn::Vec<Shorts> smooth[std::size_t{kHalf} + 1], slope[std::size_t{kHalf} + 1];
};

/// Where the sums of a row go.
struct DownSums {
  std::int16_t *smooth, *slope;
};

/// Smoothed and sloping sums of row(i), the i-th row's pixels from x on.
template <int kTaps, typename F>
HWY_INLINE void store_sums(const Taps<kTaps>& taps, const DownSums& out, int x, F row) {
  constexpr int kHalf = kTaps / 2;
  const Shorts d;
  auto sum = hn::Mul(row(kHalf), taps.smooth[0]);
  auto difference = hn::Zero(d);
  for (int i = 1; i <= kHalf; ++i) {
    const auto above = row(kHalf - i), below = row(kHalf + i);
    const auto step = taps.sloped(hn::Sub(below, above), i);
    sum = hn::Add(sum, hn::Mul(hn::Add(above, below), taps.smooth[i]));
    difference = i == 1 ? step : hn::Add(difference, step);
  }
  hn::StoreU(sum, d, out.smooth + x);
  hn::StoreU(difference, d, out.slope + x);
}

/// What the gradients along a row read beside it.
inline void repeat_ends(const DownSums& sums, int half, int width) {
  for (std::int16_t* row : {sums.smooth, sums.slope}) {
    std::fill_n(row - half, half, row[0]);
    std::fill_n(row + width, half, row[width - 1]);
  }
}

/// The sums down the rows.
template <int kTaps, typename Pixel>
void gradient_down(const Pixel* const* given, const EdgeRules& rules, int width,
                   const DownSums& out) {
  const Taps<kTaps> taps(rules);
  ShortRows copies;
  const auto rows = copies.widen(given, kTaps, width);
  cover_all(width, static_cast<int>(hn::Lanes(Shorts())), [&](int x) HWY_ATTR {
    store_sums(taps, out, x, [&](int i) HWY_ATTR { return load_pixels(rows[i] + x); });
  });
  repeat_ends(out, kTaps / 2, width);
}

/// The gradients along these, in 16 bits, and their sums if `magnitude` is not null.
template <int kTaps>
void gradient_across(const DownSums& sums, const EdgeRules& rules, int width, std::int16_t* dx,
                     std::int16_t* dy, std::int16_t* magnitude) {
  const std::int16_t *smooth = sums.smooth, *slope = sums.slope;
  constexpr int kHalf = kTaps / 2;
  const Shorts d;
  const Taps<kTaps> taps(rules);
  for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(d))) {
    const auto step = [&](int i) HWY_ATTR {
      const auto apart = hn::Sub(hn::LoadU(d, smooth + x + i), hn::LoadU(d, smooth + x - i));
      return taps.sloped(apart, i);
    };
    auto along = step(1), down = hn::Mul(hn::LoadU(d, slope + x), taps.smooth[0]);
    for (int i = 2; i <= kHalf; ++i) along = hn::Add(along, step(i));
    for (int i = 1; i <= kHalf; ++i) {
      const auto both = hn::Add(hn::LoadU(d, slope + x + i), hn::LoadU(d, slope + x - i));
      down = hn::Add(down, hn::Mul(both, taps.smooth[i]));
    }
    hn::StoreU(along, d, dx + x);
    hn::StoreU(down, d, dy + x);
    if (magnitude) hn::StoreU(hn::Add(hn::Abs(along), hn::Abs(down)), d, magnitude + x);
  }
}

/// The same for aperture 7, whose sums need 32 bits before they are divided by 16.
template <>
inline void gradient_across<7>(const DownSums& sums, const EdgeRules& rules, int width,
                               std::int16_t* dx, std::int16_t* dy, std::int16_t* magnitude) {
  const std::int16_t *smooth = sums.smooth, *slope = sums.slope;
  constexpr int kHalf = 3;
  const Words d;
  const ShortsOfWords shorts;
  const auto divided = [&](auto sum) {  // by 16, half to even
    const auto odd = hn::And(hn::ShiftRight<4>(sum), hn::Set(d, 1));
    return hn::ShiftRight<4>(hn::Add(hn::Add(sum, odd), hn::Set(d, 7)));
  };
  for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(d))) {
    const auto at = [&](const std::int16_t* row, int i) { return hn::LoadU(shorts, row + x + i); };
    auto along = hn::Zero(d);
    auto down = hn::Mul(hn::PromoteTo(d, at(slope, 0)), hn::Set(d, rules.smooth[kHalf]));
    for (int i = 1; i <= kHalf; ++i) {
      const auto step = hn::PromoteTo(d, hn::Sub(at(smooth, i), at(smooth, -i)));
      const auto both = hn::PromoteTo(d, hn::Add(at(slope, i), at(slope, -i)));
      along = hn::Add(along, hn::Mul(step, hn::Set(d, rules.slope[kHalf + i])));
      down = hn::Add(down, hn::Mul(both, hn::Set(d, rules.smooth[kHalf + i])));
    }
    const auto x16 = hn::DemoteTo(shorts, divided(along)),
               y16 = hn::DemoteTo(shorts, divided(down));
    hn::StoreU(x16, shorts, dx + x);
    hn::StoreU(y16, shorts, dy + x);
    if (magnitude) hn::StoreU(hn::Add(hn::Abs(x16), hn::Abs(y16)), shorts, magnitude + x);
  }
}

#endif
}  // namespace cuface::edges::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
