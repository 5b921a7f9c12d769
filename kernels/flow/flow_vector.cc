#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/flow/flow_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/common/dispatch.h"
#include "kernels/common/pair_products-inl.h"
#include "kernels/flow/patch.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::flow_steps::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void follow_all(GaussianPyramid&, GaussianPyramid&, int, std::span<const Point>, std::span<Point>,
                std::span<std::uint8_t>, const FlowConfig&, FlowScratch&) {}
#else

namespace hn = hwy::HWY_NAMESPACE;
using cuface::HWY_NAMESPACE::pair_products;

using Shorts = hn::CappedTag<std::int16_t, FlowScratch::kLanes>;
using Bytes = hn::Rebind<std::uint8_t, Shorts>;
using Ints = hn::Repartition<std::int32_t, Shorts>;
using ShortVector = hn::Vec<Shorts>;
using IntVector = hn::Vec<Ints>;

/// Rows whose products fit 32 bits: two of at most 8160 * 4080 a lane.
constexpr int kRowsAtOnce = 32;

HWY_INLINE ShortVector load_pixels(const std::uint8_t* p) {
  return hn::PromoteTo(Shorts(), hn::LoadU(Bytes(), p));
}

/// A pixel or derivative and its right neighbour: of a vector's even lanes in `even`, of its odd
/// lanes in `odd`, which begins one element later.
struct Neighbours {
  ShortVector even, odd;
};

/// The weights of a sample, in pairs.
struct Weights {
  ShortVector upper, lower;
};

HWY_INLINE Weights weights_of(const Sample& s) {
  const Shorts d;
  const auto pair = [&](std::int16_t left, std::int16_t right) {
    return hn::OddEven(hn::Set(d, right), hn::Set(d, left));
  };
  return {pair(s.w00, s.w01), pair(s.w10, s.w11)};
}

/// interpolate<shift>() of a vector of positions.
template <int shift>
HWY_INLINE ShortVector resample(const Neighbours& upper, const Neighbours& lower,
                                const Weights& weights) {
  const Ints d;
  const auto half = hn::Set(d, 1 << (shift - 1));
  const auto even = hn::Add(hn::Add(pair_products(Ints(), upper.even, weights.upper), half),
                            pair_products(Ints(), lower.even, weights.lower));
  const auto odd = hn::Add(hn::Add(pair_products(Ints(), upper.odd, weights.upper), half),
                           pair_products(Ints(), lower.odd, weights.lower));
  const Shorts shorts;
  return hn::OddEven(hn::BitCast(shorts, hn::ShiftLeft<16 - shift>(odd)),
                     hn::BitCast(shorts, hn::ShiftRight<shift>(even)));
}

/// A sum of products of two vectors of shorts, over at most kRowsAtOnce rows.
struct Products {
  IntVector first, second;

  static HWY_INLINE Products none() { return {hn::Zero(Ints()), hn::Zero(Ints())}; }
  HWY_INLINE void add(ShortVector a, ShortVector b) {
    first = hn::ReorderWidenMulAccumulate(Ints(), a, b, first, second);
  }
  HWY_INLINE std::int64_t total() const {
    const hn::Half<Ints> half;
    const hn::Repartition<std::int64_t, Ints> longs;
    const auto widened = [&](IntVector v) {
      return hn::Add(hn::PromoteTo(longs, hn::LowerHalf(half, v)),
                     hn::PromoteTo(longs, hn::UpperHalf(half, v)));
    };
    return hn::GetLane(hn::SumOfLanes(longs, hn::Add(widened(first), widened(second))));
  }
};

HWY_INLINE Neighbours load_neighbours(const std::uint8_t* p) {
  return {load_pixels(p), load_pixels(p + 1)};
}

/// What one row of pixels adds to the derivatives of a vector of columns: its differences along the
/// row, and its smoothed values (3 10 3).
struct Slopes {
  ShortVector difference, smooth;
};

HWY_INLINE Slopes slopes_of(ShortVector left, ShortVector middle, ShortVector right) {
  const Shorts d;
  return {hn::Sub(right, left),
          hn::Add(hn::Mul(hn::Add(left, right), hn::Set(d, 3)), hn::Mul(middle, hn::Set(d, 10)))};
}

/// Scharr derivatives of the row between `above` and `below`.
HWY_INLINE ShortVector along_x(const Slopes& above, const Slopes& here, const Slopes& below) {
  const Shorts d;
  return hn::Add(hn::Mul(hn::Add(above.difference, below.difference), hn::Set(d, 3)),
                 hn::Mul(here.difference, hn::Set(d, 10)));
}
HWY_INLINE ShortVector along_y(const Slopes& above, const Slopes& below) {
  return hn::Sub(below.smooth, above.smooth);
}

/// A row of pixels on its way through take(): its values and slopes at the even and odd positions.
struct Row {
  Neighbours pixels;
  Slopes even, odd;
};

HWY_INLINE Row read_row(const std::uint8_t* p) {
  const auto left = load_pixels(p - 1), middle = load_pixels(p), right = load_pixels(p + 1),
             beyond = load_pixels(p + 2);
  return {{middle, right}, slopes_of(left, middle, right), slopes_of(middle, right, beyond)};
}

/// What follow() asks of the pixels. The right-hand side, the sums of (next - prev) times the
/// derivatives, is made as the sums of next times them less those of prev, which stay the same:
/// integers, so it is the same number.
class VectorPatch {
 public:
  VectorPatch(int window, FlowScratch& scratch)
      : scratch_(scratch),
        window_(window),
        lanes_(static_cast<int>(hn::Lanes(Shorts()))),
        width_((window + lanes_ - 1) / lanes_ * lanes_),
        dx_(scratch.patch.data() + scratch.block()),
        dy_(dx_ + scratch.block()) {}

  GradientSums take(PyramidLevel& level, const Sample& s) {
    const Picture picture = around(level, s, window_);
    const bool inside =
        s.x >= 0 && s.y >= 0 && s.x + window_ < picture.width && s.y + window_ < picture.height;
    if (!inside) return take_at_border(picture, s);
    if (s.x >= 1 && s.y >= 1 && s.x + width_ + 2 <= picture.width &&
        s.y + window_ + 2 <= picture.height) {
      return take_from(picture.row(s.y) + s.x, picture.stride, s);
    }
    gather(picture, s.x - 1, s.y - 1, window_ + 3, scratch_);
    return take_from(scratch_.pixels.data() + scratch_.row + 1, scratch_.row, s);
  }

  MismatchSums compare(PyramidLevel& level, const Sample& s) {
    const Picture picture = around(level, s, window_);
    if (s.x >= 0 && s.y >= 0 && s.x + width_ + 1 <= picture.width &&
        s.y + window_ + 1 <= picture.height) {
      return compare_with(picture.row(s.y) + s.x, picture.stride, s);
    }
    gather(picture, s.x, s.y, window_ + 1, scratch_);
    return compare_with(scratch_.pixels.data(), scratch_.row, s);
  }

 private:
  GradientSums take_at_border(const Picture& picture, const Sample& s) {
    const GradientSums sums = take_patch(picture, s, window_, scratch_);
    own_ = {0, 0};
    const std::int16_t* value = scratch_.patch.data();
    for (std::ptrdiff_t y = 0; y < window_; ++y) {
      for (std::ptrdiff_t i = y * scratch_.row; i < y * scratch_.row + window_; ++i) {
        own_.x += value[i] * dx_[i];
        own_.y += value[i] * dy_[i];
      }
    }
    return sums;
  }

  /// `p` is the window's top left pixel.
  GradientSums take_from(const std::uint8_t* p, std::ptrdiff_t stride, const Sample& s) {
    const Shorts d;
    const Weights weights = weights_of(s);
    GradientSums sums{0, 0, 0};
    own_ = {0, 0};
    for (int x = 0; x < window_; x += lanes_) {
      const auto in_window = hn::FirstN(d, static_cast<std::size_t>(window_ - x));
      const std::uint8_t* q = p + x;
      Row above = read_row(q - stride), here = read_row(q);
      Neighbours dx = here.pixels, dy = dx;  // then, the derivatives of the row before
      for (int y = 0; y <= window_;) {
        Products xx = Products::none(), xy = xx, yy = xx, own_x = xx, own_y = xx;
        const int end = std::min(y + kRowsAtOnce, window_ + 1);
        for (; y < end; ++y) {
          const Row below = read_row(q + (y + 1) * stride);
          const Neighbours next_dx{along_x(above.even, here.even, below.even),
                                   along_x(above.odd, here.odd, below.odd)};
          const Neighbours next_dy{along_y(above.even, below.even), along_y(above.odd, below.odd)};
          if (y > 0) {
            const auto value =
                resample<kWeightBits - kPatchBits>(above.pixels, here.pixels, weights);
            const auto px =
                hn::IfThenElseZero(in_window, resample<kWeightBits>(dx, next_dx, weights));
            const auto py =
                hn::IfThenElseZero(in_window, resample<kWeightBits>(dy, next_dy, weights));
            const std::ptrdiff_t at = std::ptrdiff_t{y - 1} * scratch_.row + x;
            hn::StoreU(px, d, dx_ + at);
            hn::StoreU(py, d, dy_ + at);
            xx.add(px, px);
            xy.add(px, py);
            yy.add(py, py);
            own_x.add(value, px);
            own_y.add(value, py);
          }
          above = here;
          here = below;
          dx = next_dx;
          dy = next_dy;
        }
        sums.xx += xx.total();
        sums.xy += xy.total();
        sums.yy += yy.total();
        own_.x += own_x.total();
        own_.y += own_y.total();
      }
    }
    return sums;
  }

  /// `p` is the window's top left pixel.
  MismatchSums compare_with(const std::uint8_t* p, std::ptrdiff_t stride, const Sample& s) const {
    const Shorts d;
    const Weights weights = weights_of(s);
    MismatchSums sums{-own_.x, -own_.y};
    for (int x = 0; x < window_; x += lanes_) {
      const std::uint8_t* q = p + x;
      Neighbours upper = load_neighbours(q);
      for (int y = 0; y < window_;) {
        Products bx = Products::none(), by = bx;
        const int end = std::min(y + kRowsAtOnce, window_);
        for (; y < end; ++y) {
          const Neighbours lower = load_neighbours(q + (y + 1) * stride);
          const auto value = resample<kWeightBits - kPatchBits>(upper, lower, weights);
          const std::ptrdiff_t at = std::ptrdiff_t{y} * scratch_.row + x;
          bx.add(value, hn::LoadU(d, dx_ + at));
          by.add(value, hn::LoadU(d, dy_ + at));
          upper = lower;
        }
        sums.x += bx.total();
        sums.y += by.total();
      }
    }
    return sums;
  }

  FlowScratch& scratch_;
  int window_, lanes_, width_;
  std::int16_t *dx_, *dy_;
  MismatchSums own_{0, 0};  // of the patch itself
};

void follow_all(GaussianPyramid& prev, GaussianPyramid& next, int levels,
                std::span<const Point> from, std::span<Point> to, std::span<std::uint8_t> status,
                const FlowConfig& config, FlowScratch& scratch) {
  VectorPatch patch(config.window, scratch);
  for (std::size_t i = 0; i < from.size(); ++i) {
    status[i] = follow(patch, prev, next, levels, from[i], config, to[i]) ? 1 : 0;
  }
}

#endif
}  // namespace cuface::flow_steps::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::flow_steps {

HWY_EXPORT(follow_all);

void flow_vector(GaussianPyramid& prev, GaussianPyramid& next, int levels,
                 std::span<const Point> from, std::span<Point> to, std::span<std::uint8_t> status,
                 const FlowConfig& config, FlowScratch& scratch) {
  CUFACE_DISPATCH(follow_all)(prev, next, levels, from, to, status, config, scratch);
}

}  // namespace cuface::flow_steps
#endif
