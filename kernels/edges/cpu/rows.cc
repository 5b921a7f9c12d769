#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/edges/cpu/rows.cc"
#include "kernels/edges/cpu/rows.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "kernels/common/bits.h"
#include "kernels/common/border.h"
#include "kernels/common/dispatch.h"
#include "kernels/edges/cpu/gradients-inl.h"
#include "kernels/edges/reference.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::edges::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
bool classify_rows(Rows&, ImageView<const std::uint8_t>, const GradientViews&, const StopFlag*) {
  return false;
}
#else

/// a * b, of values from 0 to 32,767: of 32 bits most machines have slow products.
HWY_INLINE auto products_of_low(hn::Vec<Words> a, hn::Vec<Words> b) {
  return pair_products(Words(), hn::BitCast(Shorts(), a), hn::BitCast(Shorts(), b));
}

// What differs between magnitudes of 16 and of 32 bits.
HWY_INLINE auto load_gradient(Shorts d, const std::int16_t* row) { return hn::LoadU(d, row); }
HWY_INLINE auto load_gradient(Words d, const std::int16_t* row) {
  return hn::PromoteTo(d, hn::LoadU(ShortsOfWords(), row));
}
/// x * tan 22.5 degrees, cut: 13573 / 32768 of x.
HWY_INLINE auto times_tan22(Shorts d, hn::Vec<Shorts> x) {
  return hn::MulHigh(x, hn::Set(d, 2 * 13573));
}
HWY_INLINE auto times_tan22(Words d, hn::Vec<Words> x) {
  return hn::ShiftRight<15>(products_of_low(x, hn::Set(d, 13573)));
}

/// Magnitudes of 32 bits.
void magnitudes_of_row(const std::int16_t* dx, const std::int16_t* dy, GradientNorm norm, int width,
                       std::int32_t* out) {
  const Words d;
  for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(d))) {
    const auto along = load_gradient(d, dx + x), down = load_gradient(d, dy + x);
    auto m = hn::Add(hn::Abs(along), hn::Abs(down));
    if (norm == GradientNorm::kL2) {  // both in a lane, side by side
      const auto low = hn::And(along, hn::Set(d, 0xffff));
      const auto both = hn::BitCast(Shorts(), hn::Or(low, hn::ShiftLeft<16>(down)));
      m = pair_products(d, both, both);
    }
    hn::StoreU(m, d, out + x);
  }
}

/// Bits of the pixels from x on. A vector of fewer than eight fills half of a byte.
template <class D>
HWY_INLINE void store_bits(D d, hn::Mask<D> mask, int x, std::uint64_t* row) {
  std::uint8_t* to = reinterpret_cast<std::uint8_t*>(row) + x / 8;
  if constexpr (hn::MaxLanes(D()) >= 8) {
    hn::StoreMaskBits(d, mask, to);
  } else {
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(d, mask, bits);
    *to = static_cast<std::uint8_t>(x % 8 == 0 ? bits[0] : *to | bits[0] << 4);
  }
}

/// The ridges and edges of a row, of its magnitudes and those above and below.
template <class D, typename T = hn::TFromD<D>>
void classes_of_row(D d, const T* above, const T* here, const T* below, const std::int16_t* dx,
                    const std::int16_t* dy, const EdgeRules& rules, int width,
                    std::uint64_t* ridges, std::uint64_t* edges) {
  const auto low = hn::Set(d, static_cast<T>(rules.low));
  const auto high = hn::Set(d, static_cast<T>(rules.high));
  const bool sectors = sizeof(T) == sizeof(std::int32_t) && rules.thinning == Thinning::kSectors;
  const int last = words_of(width) - 1;
  ridges[last] = edges[last] = 0;
  for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(d))) {
    const auto m = hn::LoadU(d, here + x);
    const auto candidate = hn::Gt(m, low);
    if (hn::AllFalse(d, candidate)) {
      store_bits(d, candidate, x, ridges);
      store_bits(d, candidate, x, edges);
      continue;
    }
    const auto along = load_gradient(d, dx + x), down = load_gradient(d, dy + x);
    const auto width_of = hn::Abs(along), height_of = hn::Abs(down);
    // As across_of() has it: y * 2^15 < x * 13573 is y <= x * tan 22.5 cut, as no such product but
    // that of 0 is a multiple of 2^15, and a candidate has a gradient.
    const auto tan22 = times_tan22(d, width_of);
    auto flat = hn::Not(hn::Gt(height_of, tan22));
    auto steep = hn::Gt(height_of, hn::Add(tan22, hn::Add(width_of, width_of)));
    if constexpr (sizeof(T) == sizeof(std::int32_t)) {
      if (sectors) {
        const auto x2 = products_of_low(width_of, width_of);
        const auto y2 = products_of_low(height_of, height_of);
        flat = hn::Lt(hn::Add(y2, hn::Add(y2, y2)), x2);
        steep = hn::Gt(y2, hn::Add(x2, hn::Add(x2, x2)));
      }
    }
    const auto opposite = hn::Lt(hn::Xor(along, down), hn::Zero(d));
    const auto at = [&](const T* row, int i) { return hn::LoadU(d, row + x + i); };
    const auto before = hn::IfThenElse(
        flat, at(here, -1),
        hn::IfThenElse(steep, at(above, 0), hn::IfThenElse(opposite, at(above, 1), at(above, -1))));
    const auto after = hn::IfThenElse(
        flat, at(here, 1),
        hn::IfThenElse(steep, at(below, 0), hn::IfThenElse(opposite, at(below, -1), at(below, 1))));
    auto wins = hn::Gt(m, after);
    if (!sectors) wins = hn::Or(wins, hn::And(hn::Eq(m, after), hn::Or(flat, steep)));
    const auto ridge = hn::And(candidate, hn::And(hn::Gt(m, before), wins));
    const auto edge = hn::And(ridge, hn::Gt(m, high));
    const auto kept = rules.linking == Linking::kApron ? candidate : ridge;
    store_bits(d, kept, x, ridges);
    store_bits(d, edge, x, edges);
  }
  ridges[last] &= bits_between(last, 0, width);
  edges[last] &= bits_between(last, 0, width);
}

/// The sums down the rows of a picture, blurred where it is to be, row by row.
template <int kTaps>
class SumsDown {
 public:
  SumsDown(Rows& rows, ImageView<const std::uint8_t> grey)
      : rows_(rows),
        grey_(grey),
        narrow_(std::all_of(rows.blur.begin(), rows.blur.end(),
                            [](int weight) { return weight % kNarrowUnit == 0; })) {}

  /// Those of row y; rows are asked for in order.
  DownSums row(int y) {
    const DownSums out = {rows_.smooth.row(0), rows_.slope.row(0)};
    const auto near = [&](int i) { return std::clamp(y + i - kTaps / 2, 0, rows_.height - 1); };
    if (rows_.blur.size() == 1) {
      const std::uint8_t* from[std::size_t{kTaps}];
      for (int i = 0; i < kTaps; ++i) from[i] = grey_.row(near(i));
      gradient_down<kTaps>(from, rows_.rules, rows_.width, out);
      return out;
    }
    const std::int16_t* from[std::size_t{kTaps}];
    for (int i = 0; i < kTaps; ++i) from[i] = rows_.blurred.row(near(i));
    while (next_ < near(kTaps - 1)) blur([](int, hn::Vec<Shorts>) {});
    if (next_ > near(kTaps - 1)) {
      gradient_down<kTaps>(from, rows_.rules, rows_.width, out);
      return out;
    }
    const Taps<kTaps> taps(rows_.rules);
    blur([&](int x, hn::Vec<Shorts> pixels) HWY_ATTR {  // the last row, while it is at hand
      store_sums(taps, out, x, [&](int i) HWY_ATTR {
        return i == kTaps - 1 ? pixels : load_pixels(from[i] + x);
      });
    });
    repeat_ends(out, kTaps / 2, rows_.width);
    return out;
  }

 private:
  /// The next row. Calls use(x, pixels) for each vector of it.
  template <typename F>
  HWY_INLINE void blur(F use) {
    const int size = static_cast<int>(rows_.blur.size()), width = rows_.width;
    if (narrow_ && size == 3) return blur_narrow<3, false>(use);
    if (narrow_ && size == 5 && rows_.blur[0] == kNarrowUnit) return blur_narrow<5, true>(use);
    if (narrow_ && size == 5) return blur_narrow<5, false>(use);
    const std::uint8_t* from[kMostBlur];
    for (int i = 0; i < size; ++i)
      from[i] = grey_.row(reflect_101(next_ + i - size / 2, rows_.height));
    std::int16_t *sums = rows_.blur_sums.row(0), *out = rows_.blurred.row(next_);
    ++next_;
    blur_down(from, rows_.blur, width, sums);
    blur_across(sums, rows_.blur, width, out, use);
  }

  /// The same, first along the rows: so each pixel is made 16 bits once.
  template <int kSize, bool kUnit, typename F>
  HWY_INLINE void blur_narrow(F use) {
    const NarrowBlur<kSize, kUnit> narrow(rows_.blur);
    const int y = next_++, width = rows_.width, height = rows_.height;
    for (; along_ <= std::min(y + kSize / 2, height - 1); ++along_)
      narrow.along(grey_.row(along_), width, rows_.widened.row(0), rows_.blur_sums.row(along_));
    const std::int16_t* from[std::size_t{kSize}];
    for (int i = 0; i < kSize; ++i)
      from[i] = rows_.blur_sums.row(reflect_101(y + i - kSize / 2, height));
    narrow.down(from, width, rows_.blurred.row(y), use);
  }

  Rows& rows_;
  ImageView<const std::uint8_t> grey_;
  const bool narrow_;
  int next_ = 0, along_ = 0;
};

/// A copy of the rules, so that the compiler makes vectors of the loop.
template <typename T>
void contrasts_of_row(const T* magnitudes, int width, const EdgeRules rules, std::uint8_t* out) {
  for (int x = 0; x < width; ++x) out[x] = contrast(magnitudes[x], rules);
}

/// angle_step() of a row. atan(r) is r * (pi / 4 + 0.273 * (1 - r)) to 0.0038, a sixth of a step:
/// so what is cut of it is the number of tangents passed, or one too few, and one is compared.
void angles_of_row(const std::int16_t* dx, const std::int16_t* dy, int width, std::uint8_t* out) {
  const Words d;
  const hn::RebindToFloat<Words> floats;
  constexpr float kBend = 0.273f * 128 / 3.14159265f;  // in steps
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto low = hn::Set(d, (1 << 15) - 1), one = hn::Set(d, 1);
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    const auto along = load_gradient(d, dx + x), down = load_gradient(d, dy + x);
    const auto width_of = hn::Abs(along), height_of = hn::Abs(down);
    const auto steep = hn::Gt(height_of, width_of);
    const auto run = hn::Max(width_of, height_of), rise = hn::Min(width_of, height_of);
    const auto slope =
        hn::Div(hn::ConvertTo(floats, rise), hn::ConvertTo(floats, hn::Max(run, one)));
    const auto bend = hn::Mul(hn::Set(floats, kBend), hn::Sub(hn::Set(floats, 1), slope));
    const auto about = hn::Mul(slope, hn::Add(hn::Set(floats, kOctaveSteps), bend));
    const auto passed = hn::Min(hn::ConvertTo(d, about), hn::Set(d, kOctaveSteps - 1));
    // run * tangent / 2^30, cut, in halves of 15 bits.
    const auto tangent = hn::GatherIndex(d, kOctave.tangents, passed);
    const auto lower = hn::ShiftRight<15>(hn::Mul(run, hn::And(tangent, low)));
    const auto upper = hn::Mul(run, hn::ShiftRight<15>(tangent));
    const auto limit = hn::ShiftRight<15>(hn::Add(upper, lower));
    auto step = hn::Sub(passed, hn::VecFromMask(d, hn::Gt(rise, limit)));
    step = hn::IfThenElse(steep, hn::Sub(hn::Set(d, 64), step), step);
    step = hn::IfThenElse(hn::Lt(along, hn::Zero(d)), hn::Sub(hn::Set(d, 128), step), step);
    step = hn::IfThenElse(hn::Lt(down, hn::Zero(d)), hn::Neg(step), step);
    hn::StoreU(hn::DemoteTo(BytesOfWords(), hn::And(step, hn::Set(d, 255))), BytesOfWords(),
               out + x);
  }
  for (; x < width; ++x) out[x] = angle_step(dx[x], dy[x], kOctave);
}

/// The rows of one kind of magnitude, from -1 to height, those without a picture all 0.
template <int kTaps, class D, typename T = hn::TFromD<D>>
bool classify_by(D d, Rows& rows, Ring<T>& magnitude, ImageView<const std::uint8_t> grey,
                 const GradientViews& wanted, const StopFlag* stop) {
  constexpr bool kWide = sizeof(T) > sizeof(std::int16_t);
  const auto row_of = [&](int y) { return magnitude.row(y + 1); };
  const auto clear = [&](int y) {
    std::fill_n(row_of(y) - kMargin, rows.width + 2 * kMargin, T{});
  };
  SumsDown<kTaps> sums(rows, grey);
  clear(-1);
  for (int y = 0; y <= rows.height; ++y) {
    if (y % kRowsPerLook == 0 && is_raised(stop)) return false;
    if (y < rows.height) {
      std::int16_t *dx = rows.dx.row(y), *dy = rows.dy.row(y);
      T* here = row_of(y);
      if constexpr (kWide) {
        gradient_across<kTaps>(sums.row(y), rows.rules, rows.width, dx, dy, nullptr);
        magnitudes_of_row(dx, dy, rows.rules.norm, rows.width, here);
      } else {
        gradient_across<kTaps>(sums.row(y), rows.rules, rows.width, dx, dy, here);
      }
      here[-1] = here[rows.width] = 0;
      if (wanted.magnitude.data)
        contrasts_of_row(here, rows.width, rows.rules, wanted.magnitude.row(y));
      if (wanted.angle.data) angles_of_row(dx, dy, rows.width, wanted.angle.row(y));
    } else {
      clear(y);
    }
    if (y > 0) {
      classes_of_row(d, row_of(y - 2), row_of(y - 1), row_of(y), rows.dx.row(y - 1),
                     rows.dy.row(y - 1), rows.rules, rows.width, rows.ridges.row(y - 1),
                     rows.edges.row(y - 1));
    }
  }
  return true;
}

template <int kTaps>
bool classify_taps(Rows& rows, ImageView<const std::uint8_t> grey, const GradientViews& wanted,
                   const StopFlag* stop) {
  if (rows.wide) return classify_by<kTaps>(Words(), rows, rows.wide_magnitude, grey, wanted, stop);
  return classify_by<kTaps>(Shorts(), rows, rows.magnitude, grey, wanted, stop);
}

bool classify_rows(Rows& rows, ImageView<const std::uint8_t> grey, const GradientViews& wanted,
                   const StopFlag* stop) {
  if (rows.rules.taps == 3) return classify_taps<3>(rows, grey, wanted, stop);
  if (rows.rules.taps == 5) return classify_taps<5>(rows, grey, wanted, stop);
  return classify_taps<7>(rows, grey, wanted, stop);
}

#endif
}  // namespace cuface::edges::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::edges {

HWY_EXPORT(classify_rows);

Rows::Rows(int width_, int height_, const EdgeRules& rules_, const std::vector<int>& blur_)
    : width(width_),
      height(height_),
      rules(rules_),
      blur(blur_),
      wide(rules_.norm == GradientNorm::kL2 || rules_.thinning == Thinning::kSectors),
      widened(width_, 1),
      blur_sums(width_, static_cast<int>(blur_.size())),
      blurred(width_, rules_.taps),
      smooth(width_, 1),
      slope(width_, 1),
      dx(width_, 2),
      dy(width_, 2),
      magnitude(wide ? 0 : width_, 3),
      wide_magnitude(wide ? width_ : 0, 3),
      ridges(width_, height_),
      edges(width_, height_) {}

bool classify(Rows& rows, ImageView<const std::uint8_t> grey, const GradientViews& wanted,
              const StopFlag* stop) {
  return CUFACE_DISPATCH(classify_rows)(rows, grey, wanted, stop);
}

}  // namespace cuface::edges
#endif
