#include "kernels/integral/integral.h"

#include <algorithm>
#include <array>

#include "kernels/common/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/integral/integral.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<std::uint32_t>;
using VW = hn::Vec<Words>;

constexpr std::size_t kWords = hn::MaxLanes(Words());

// Sums of all lanes up to each, and of all before the vector.
class RunningSum {
 public:
  RunningSum() {
    const hn::RebindToSigned<Words> i;
    alignas(64) std::int32_t from[kWords];
    for (std::size_t s = 0; s < kSteps; ++s) {
      for (std::size_t k = 0; k < kWords; ++k) {
        from[k] = static_cast<std::int32_t>(k < distance(s) ? k : k - distance(s));
      }
      hn::Store(hn::Load(i, from), i, from_[s].data());
    }
  }
  HWY_INLINE VW next(VW v) {
    const Words d;
    const hn::RebindToSigned<Words> i;
    for (std::size_t s = 0; s < kSteps; ++s) {
      const VW shifted = hn::TableLookupLanes(v, hn::SetTableIndices(d, from_[s].data()));
      const auto before =
          hn::Lt(hn::Iota(i, 0), hn::Set(i, static_cast<std::int32_t>(distance(s))));
      v = hn::Add(v, hn::IfThenZeroElse(hn::RebindMask(d, before), shifted));
    }
    v = hn::Add(v, before_);
    alignas(64) static constexpr auto kLast = [] {
      std::array<std::int32_t, kWords> last;
      last.fill(static_cast<std::int32_t>(kWords - 1));
      return last;
    }();
    before_ = hn::TableLookupLanes(v, hn::SetTableIndices(d, kLast.data()));
    return v;
  }

 private:
  static constexpr std::size_t distance(std::size_t step) { return std::size_t{1} << step; }
  static constexpr std::size_t kSteps = kWords == 16 ? 4 : kWords == 8 ? 3 : kWords == 4 ? 2 : 1;
  alignas(64) std::array<std::array<std::int32_t, kWords>, kSteps> from_;
  VW before_ = hn::Zero(Words());
};

// Two columns a lane.
struct TwoColumns {
  VW first, second;
};

// `row` is the sum of the row's pixels up to the second column, `second` that pixel.
HWY_INLINE TwoColumns add_above(const std::uint32_t* above, std::uint32_t* out, std::size_t x,
                                std::ptrdiff_t odd, VW row, VW second) {
  const Words d;
  if (odd == 0) {
    VW a0, a1;
    hn::LoadInterleaved2(d, above + x + 1, a0, a1);
    const TwoColumns sums{hn::Add(a0, hn::Sub(row, second)), hn::Add(a1, row)};
    hn::StoreInterleaved2(sums.first, sums.second, d, out + x + 1);
    return sums;
  }
  const std::size_t k = x / 2;
  const VW a0 = hn::LoadU(d, above + odd + k), a1 = hn::LoadU(d, above + k + 1);
  const TwoColumns sums{hn::Add(a0, hn::Sub(row, second)), hn::Add(a1, row)};
  hn::StoreU(sums.first, d, out + odd + k);
  hn::StoreU(sums.second, d, out + k + 1);
  return sums;
}

HWY_INLINE void store_shorts(const TwoColumns& sums, std::size_t x, std::ptrdiff_t odd,
                             const ShortRow& out) {
  const Words d;
  const hn::Repartition<std::uint16_t, Words> pairs;
  if (out.in_order) {
    const VW both = hn::Or(hn::And(sums.first, hn::Set(d, 0xffff)), hn::ShiftLeft<16>(sums.second));
    hn::StoreU(hn::BitCast(pairs, both), pairs, out.in_order + x + 1);
  }
  if (out.same && odd != 0) {
    const hn::Rebind<std::uint16_t, Words> half;
    hn::StoreU(hn::TruncateTo(half, sums.first), half, out.same + odd + x / 2);
    hn::StoreU(hn::TruncateTo(half, sums.second), half, out.same + x / 2 + 1);
  }
}

// As many pairs of columns as fill vectors; returns the number of columns done.
std::size_t integral_squared_vectors(const std::uint8_t* pixels, std::size_t width,
                                     std::ptrdiff_t odd, const std::uint32_t* sum_above,
                                     std::uint32_t* sum, const std::uint32_t* squared_above,
                                     std::uint32_t* squared, const ShortRow& shorts,
                                     std::uint32_t* row_sum, std::uint32_t* row_squared) {
  const Words d;
  const hn::Rebind<std::uint16_t, Words> pairs;
  RunningSum sums, squares;
  std::size_t x = 0;
  VW last_sum = hn::Zero(d), last_squared = hn::Zero(d);
  for (; x + 2 * kWords <= width; x += 2 * kWords) {
    const hn::Repartition<std::uint8_t, decltype(pairs)> bytes;
    const VW both = hn::PromoteTo(d, hn::BitCast(pairs, hn::LoadU(bytes, pixels + x)));
    const VW first = hn::And(both, hn::Set(d, 0xff)), second = hn::ShiftRight<8>(both);
    const VW first2 = hn::Mul(first, first), second2 = hn::Mul(second, second);
    last_sum = sums.next(hn::Add(first, second));
    last_squared = squares.next(hn::Add(first2, second2));
    store_shorts(add_above(sum_above, sum, x, odd, last_sum, second), x, odd, shorts);
    add_above(squared_above, squared, x, odd, last_squared, second2);
  }
  *row_sum = hn::ExtractLane(last_sum, kWords - 1);
  *row_squared = hn::ExtractLane(last_squared, kWords - 1);
  return x;
}

}  // namespace cuface::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface {
namespace {

HWY_EXPORT(integral_squared_vectors);

template <typename T>
void clear_row(const ImageView<T>& view, int y) {
  std::fill_n(view.row(y), view.width, T{0});
}

// From column `x` on, which `row_sum` and `row_squared` sum up to.
template <typename Squared>
void rest_of_row(const std::uint8_t* pixels, int x, int width, ColumnOrder order,
                 std::uint32_t row_sum, Squared row_squared, const std::uint32_t* sum_above,
                 std::uint32_t* sum, const Squared* squared_above, Squared* squared,
                 const ShortRow& shorts) {
  for (; x < width; ++x) {
    const std::uint32_t v = pixels[x];
    const std::ptrdiff_t at = order.at(x + 1);
    row_sum += v;
    row_squared += v * v;
    sum[at] = sum_above[at] + row_sum;
    squared[at] = squared_above[at] + row_squared;
    if (shorts.in_order) shorts.in_order[x + 1] = static_cast<std::uint16_t>(sum[at]);
    if (shorts.same && order.odd != 0) shorts.same[at] = static_cast<std::uint16_t>(sum[at]);
  }
}

}  // namespace

void integral_squared_row(const std::uint8_t* pixels, int width, ColumnOrder order,
                          const std::uint32_t* sum_above, std::uint32_t* sum,
                          const std::uint32_t* squared_above, std::uint32_t* squared,
                          ShortRow shorts) {
  std::size_t done = 0;
  std::uint32_t row_sum = 0, row_squared = 0;
  sum[0] = squared[0] = 0;
  if (shorts.in_order) shorts.in_order[0] = 0;
  if (shorts.same && order.odd != 0) shorts.same[0] = 0;
  if (simd::vectors()) {
    done = CUFACE_DISPATCH(integral_squared_vectors)(pixels, static_cast<std::size_t>(width),
                                                     order.odd, sum_above, sum, squared_above,
                                                     squared, shorts, &row_sum, &row_squared);
  }
  rest_of_row(pixels, static_cast<int>(done), width, order, row_sum, row_squared, sum_above, sum,
              squared_above, squared, shorts);
}

void integral(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> sum) {
  clear_row(sum, 0);
  for (int y = 0; y < src.height; ++y) {
    const std::uint8_t* in = src.row(y);
    const std::uint32_t* above = sum.row(y);
    std::uint32_t* out = sum.row(y + 1);
    std::uint32_t row_sum = 0;
    out[0] = 0;
    for (int x = 0; x < src.width; ++x) {
      row_sum += in[x];
      out[x + 1] = above[x + 1] + row_sum;
    }
  }
}

void integral_squared(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> sum,
                      ImageView<std::uint32_t> squared) {
  clear_row(sum, 0);
  clear_row(squared, 0);
  for (int y = 0; y < src.height; ++y) {
    integral_squared_row(src.row(y), src.width, {}, sum.row(y), sum.row(y + 1), squared.row(y),
                         squared.row(y + 1));
  }
}

bool integral_squared(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> sum,
                      ImageView<std::uint64_t> squared, const StopFlag* stop) {
  clear_row(sum, 0);
  clear_row(squared, 0);
  for (int y = 0; y < src.height; ++y) {
    if (y % kRowsPerLook == 0 && is_raised(stop)) return false;
    sum.row(y + 1)[0] = 0;
    squared.row(y + 1)[0] = 0;
    rest_of_row<std::uint64_t>(src.row(y), 0, src.width, {}, 0, 0, sum.row(y), sum.row(y + 1),
                               squared.row(y), squared.row(y + 1), {});
  }
  return true;
}

// A cone with its tip at (x,y) is the two cones one row up and to either side, less the cone two
// rows up. Both hold that one. Neither holds the two pixels below it, which are added. Left of the
// picture the cone (-1,y-1) is empty but for what (0,y-2) holds too; right of it (W+1,y-1) holds
// what (W,y-2) holds.
void integral_tilted_row(const std::uint8_t* pixels, const std::uint8_t* pixels_above, int width,
                         ColumnOrder order, const std::uint32_t* above2, const std::uint32_t* above,
                         std::uint32_t* tilted) {
  if (pixels_above == nullptr) {
    tilted[0] = 0;
    for (int x = 0; x < width; ++x) tilted[order.at(x + 1)] = pixels[x];
    return;
  }
  const int w = width;
  tilted[0] = above[order.at(1)];
  for (int x = 1; x < w; ++x) {
    tilted[order.at(x)] = above[order.at(x - 1)] + above[order.at(x + 1)] - above2[order.at(x)] +
                          pixels[x - 1] + pixels_above[x - 1];
  }
  tilted[order.at(w)] = above[order.at(w - 1)] + pixels[w - 1] + pixels_above[w - 1];
}

bool integral_tilted(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> tilted,
                     const StopFlag* stop) {
  clear_row(tilted, 0);
  for (int y = 0; y < src.height; ++y) {
    if (y % kRowsPerLook == 0 && is_raised(stop)) return false;
    const bool first = y == 0;
    integral_tilted_row(src.row(y), first ? nullptr : src.row(y - 1), src.width, {},
                        first ? nullptr : tilted.row(y - 1), tilted.row(y), tilted.row(y + 1));
  }
  return true;
}

}  // namespace cuface
#endif
