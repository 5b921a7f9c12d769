#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/orb/orb_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "kernels/common/dispatch.h"
#include "kernels/common/pair_products-inl.h"
#include "kernels/features/features.h"
#include "kernels/orb/pattern.h"
#include "kernels/orb/vector.h"

#ifndef CUFACE_ORB_VECTOR_TABLES
#define CUFACE_ORB_VECTOR_TABLES
namespace cuface::orb {

/// Lanes of a row of the circle: its pixels, and one at its left that counts for nothing.
inline constexpr int kCircleLanes = 2 * (kRadius + 1);
/// Columns of a descriptor's neighbourhood to each side: the pattern's radius, turned.
inline constexpr int kReach = 19;
inline constexpr int kPairs = 8 * kBinaryBytes;

struct Tables {
  /// -1 where a pixel is in row v of the circle, and its x.
  std::int16_t inside[kRadius + 1][kCircleLanes], x[kCircleLanes];
  /// The pattern's coordinates one after the other.
  float x0[kPairs], y0[kPairs], x1[kPairs], y1[kPairs];
};

inline const Tables& tables() {
  static const Tables made = [] {
    Tables t{};
    for (int i = 0; i < kCircleLanes; ++i) {
      const int u = i - kRadius - 1;
      t.x[i] = static_cast<std::int16_t>(u);
      for (int v = 0; v <= kRadius; ++v)
        t.inside[v][i] = static_cast<std::int16_t>(std::abs(u) <= kHalfWidth[v] ? -1 : 0);
    }
    for (int i = 0; i < kPairs; ++i) {
      t.x0[i] = kPattern[i].x0;
      t.y0[i] = kPattern[i].y0;
      t.x1[i] = kPattern[i].x1;
      t.y1[i] = kPattern[i].y1;
    }
    return t;
  }();
  return made;
}

}  // namespace cuface::orb
#endif

HWY_BEFORE_NAMESPACE();
namespace cuface::orb::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
HarrisSums gradients_at(ImageView<const std::uint8_t>, int, int) { return {}; }
Centroid centroid_at(ImageView<const std::uint8_t>, int, int) { return {}; }
void blur_row(ImageView<const std::uint8_t>, int, int, int, float*, std::uint8_t*) {}
void describe_at(ImageView<const std::uint8_t>, int, int, Roll, std::uint8_t*) {}
#else

namespace hn = hwy::HWY_NAMESPACE;
using cuface::HWY_NAMESPACE::pair_products;

HarrisSums gradients_at(ImageView<const std::uint8_t> level, int x, int y) {
  constexpr int kHalf = kHarrisBlock / 2;
  const hn::FixedTag<std::int16_t, 8> d;
  const hn::FixedTag<std::int32_t, 4> sums;
  const hn::Rebind<std::uint8_t, decltype(d)> bytes;
  using V = hn::Vec<decltype(d)>;
  alignas(16) static constexpr std::int16_t kBlock[8] = {-1, -1, -1, -1, -1, -1, -1, 0};
  const V block = hn::Load(d, kBlock);
  // Of a row the differences along it, and its smoothed values.
  struct Row {
    V difference, smooth;
  };
  const auto row = [&](int v) {
    const std::uint8_t* at = level.row(v) + x - kHalf;
    const V left = hn::PromoteTo(d, hn::LoadU(bytes, at - 1)),
            middle = hn::PromoteTo(d, hn::LoadU(bytes, at)),
            right = hn::PromoteTo(d, hn::LoadU(bytes, at + 1));
    return Row{hn::And(hn::Sub(right, left), block),
               hn::And(hn::Add(hn::Add(left, right), hn::Add(middle, middle)), block)};
  };
  auto xx = hn::Zero(sums), yy = hn::Zero(sums), xy = hn::Zero(sums);
  Row above = row(y - kHalf - 1), here = row(y - kHalf);
  for (int v = y - kHalf; v <= y + kHalf; ++v) {
    const Row below = row(v + 1);
    const V dx = hn::Add(hn::Add(above.difference, below.difference),
                         hn::Add(here.difference, here.difference));
    const V dy = hn::Sub(below.smooth, above.smooth);
    xx = hn::Add(xx, pair_products(sums, dx, dx));
    yy = hn::Add(yy, pair_products(sums, dy, dy));
    xy = hn::Add(xy, pair_products(sums, dx, dy));
    above = here;
    here = below;
  }
  const auto total = [&](auto v) { return hn::GetLane(hn::SumOfLanes(sums, v)); };
  return {total(xx), total(yy), total(xy)};
}

Centroid centroid_at(ImageView<const std::uint8_t> level, int x, int y) {
  const hn::CappedTag<std::int16_t, kCircleLanes> d;
  const hn::RepartitionToWide<decltype(d)> wide;
  const hn::Rebind<std::uint8_t, decltype(d)> bytes;
  const Tables& t = tables();
  auto down = hn::Zero(wide), across = hn::Zero(wide);
  for (int i = 0; i < kCircleLanes; i += static_cast<int>(hn::Lanes(d))) {
    const auto pixels = [&](int v) {
      const std::uint8_t* at = level.row(y + v) + x - kRadius - 1 + i;
      return hn::PromoteTo(d, hn::LoadU(bytes, at));
    };
    auto columns = hn::And(pixels(0), hn::LoadU(d, t.inside[0] + i));
    for (int v = 1; v <= kRadius; ++v) {
      const auto inside = hn::LoadU(d, t.inside[v] + i);
      const auto above = pixels(-v), below = pixels(v);
      columns = hn::Add(columns, hn::And(hn::Add(above, below), inside));
      const auto difference = hn::And(hn::Sub(below, above), inside);
      const auto times = hn::Set(d, static_cast<std::int16_t>(v));
      down = hn::Add(down, pair_products(wide, difference, times));
    }
    across = hn::Add(across, pair_products(wide, columns, hn::LoadU(d, t.x + i)));
  }
  return {hn::GetLane(hn::SumOfLanes(wide, across)), hn::GetLane(hn::SumOfLanes(wide, down))};
}

/// blur_of() of vectors.
template <class D, class V>
HWY_INLINE V blur_of_vectors(D d, V middle, V by1, V by2, V by3) {
  const auto times = [&](int i, V v) { return hn::Mul(hn::Set(d, kBlur[i]), v); };
  return hn::Add(hn::Add(hn::Add(times(3, middle), times(2, by1)), times(1, by2)), times(0, by3));
}

/// The pixels `first` to `end` of the blurred row y, `end` without, and others beside them. The row
/// has at least a vector of pixels that can be blurred; `columns` has room for it.
void blur_row(ImageView<const std::uint8_t> level, int y, int first, int end, float* columns,
              std::uint8_t* out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> words;
  const hn::Rebind<std::uint8_t, decltype(d)> bytes;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const std::uint8_t* rows[2 * kBlurReach + 1];
  for (int i = -kBlurReach; i <= kBlurReach; ++i) rows[i + kBlurReach] = level.row(y + i);
  const int stop = std::min(end + kBlurReach, level.width);
  for (int begin = first - kBlurReach; begin < stop; begin += lanes) {
    const int x = std::min(begin, level.width - lanes);
    const auto row = [&](int i) { return hn::PromoteTo(words, hn::LoadU(bytes, rows[i] + x)); };
    const auto both = [&](int apart) {
      return hn::ConvertTo(d, hn::Add(row(kBlurReach - apart), row(kBlurReach + apart)));
    };
    const auto middle = hn::ConvertTo(d, row(kBlurReach));
    hn::StoreU(blur_of_vectors(d, middle, both(1), both(2), both(3)), d, columns + x);
  }
  for (int begin = first; begin < end; begin += lanes) {
    const int x = std::min(begin, level.width - kBlurReach - lanes);
    const auto at = [&](int i) { return hn::LoadU(d, columns + x + i); };
    const auto both = [&](int apart) { return hn::Add(at(-apart), at(apart)); };
    const auto sum = blur_of_vectors(d, at(0), both(1), both(2), both(3));
    hn::StoreU(hn::DemoteTo(bytes, hn::NearestInt(sum)), bytes, out + x);
  }
}

void describe_at(ImageView<const std::uint8_t> blurred, int x, int y, Roll roll,
                 std::uint8_t* out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> words;
  const Tables& t = tables();
  const auto cos = hn::Set(d, roll.cos), sin = hn::Set(d, roll.sin);
  const auto stride = hn::Set(words, static_cast<std::int32_t>(blurred.stride));
  HWY_ALIGN std::int32_t first[kPairs];
  HWY_ALIGN std::int32_t second[kPairs];
  for (int i = 0; i < kPairs; i += static_cast<int>(hn::Lanes(d))) {
    const auto offsets = [&](const float* across, const float* down) {
      const auto u = hn::LoadU(d, across + i), v = hn::LoadU(d, down + i);
      const auto px = hn::NearestInt(hn::Sub(hn::Mul(u, cos), hn::Mul(v, sin)));
      const auto py = hn::NearestInt(hn::Add(hn::Mul(u, sin), hn::Mul(v, cos)));
      return hn::Add(hn::Mul(py, stride), px);
    };
    hn::Store(offsets(t.x0, t.y0), words, first + i);
    hn::Store(offsets(t.x1, t.y1), words, second + i);
  }
  HWY_ALIGN std::uint8_t before[kPairs];
  HWY_ALIGN std::uint8_t after[kPairs];
  const std::uint8_t* centre = blurred.row(y) + x;
  for (int i = 0; i < kPairs; ++i) {
    before[i] = centre[first[i]];
    after[i] = centre[second[i]];
  }
  const hn::ScalableTag<std::uint8_t> bytes;
  for (int i = 0; i < kPairs; i += static_cast<int>(hn::Lanes(bytes))) {
    const auto less = hn::Lt(hn::Load(bytes, before + i), hn::Load(bytes, after + i));
    hn::StoreMaskBits(bytes, less, out + i / 8);
  }
}

#endif
}  // namespace cuface::orb::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::orb {

HWY_EXPORT(gradients_at);
HWY_EXPORT(centroid_at);
HWY_EXPORT(blur_row);
HWY_EXPORT(describe_at);

HarrisSums harris_sums_vector(ImageView<const std::uint8_t> level, int x, int y) {
  return CUFACE_DISPATCH(gradients_at)(level, x, y);
}

Centroid centroid_vector(ImageView<const std::uint8_t> level, int x, int y) {
  return CUFACE_DISPATCH(centroid_at)(level, x, y);
}

BlurredParts::BlurredParts(int width, int height)
    : wanted_(static_cast<std::size_t>((width + kWidth - 1) / kWidth) *
              static_cast<std::size_t>((height + kHeight - 1) / kHeight)),
      columns_(static_cast<std::size_t>(width)),
      blurred_(width, height) {}

void BlurredParts::begin(ImageView<const std::uint8_t> level) {
  level_ = level;
  across_ = (level.width + kWidth - 1) / kWidth;
  down_ = (level.height + kHeight - 1) / kHeight;
  std::fill_n(wanted_.begin(), across_ * down_, std::uint8_t{0});
}

void BlurredParts::want(int x, int y) {
  const int left = (x - kReach) / kWidth, right = (x + kReach) / kWidth;
  for (int row = (y - kReach) / kHeight; row <= (y + kReach) / kHeight; ++row)
    std::fill_n(wanted_.begin() + row * across_ + left, right - left + 1, std::uint8_t{1});
}

void BlurredParts::make() {
  const auto blur = CUFACE_DISPATCH(blur_row);
  for (int row = 0; row < down_; ++row) {
    const auto tiles = wanted_.begin() + row * across_;
    for (int tile = 0; tile < across_; ++tile) {
      const int begin = tile;
      while (tile < across_ && tiles[tile]) ++tile;
      if (tile == begin) continue;
      const int first = std::max(begin * kWidth, kBlurReach);
      const int end = std::min(tile * kWidth, level_.width - kBlurReach);
      const int bottom = std::min((row + 1) * kHeight, level_.height - kBlurReach);
      for (int y = std::max(row * kHeight, kBlurReach); y < bottom; ++y)
        blur(level_, y, first, end, columns_.data(), blurred_.view().row(y));
    }
  }
}

void BlurredParts::descriptor(int x, int y, Roll roll, std::uint8_t* out) const {
  CUFACE_DISPATCH(describe_at)(blurred_.view(), x, y, roll, out);
}

}  // namespace cuface::orb
#endif
