// Bilinear resizing in fixed point: weights with 8 fraction bits in each direction, rounded once at
// the end. The sample positions are double arithmetic with a fixed order of operations, so every
// machine computes the same weights.
#include "kernels/common/simd.h"
#include "kernels/pyramid/pyramid.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pyramid/resize.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cuface::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Ints = hn::ScalableTag<std::int32_t>;
using VI = hn::Vec<Ints>;

constexpr int kLanes = static_cast<int>(hn::MaxLanes(Ints()));

// A source row's values at some columns, times 256.
HWY_INLINE VI along_row(const std::uint8_t* row, VI at, VI shift, VI weight) {
  const Ints d;
  const hn::RebindToUnsigned<Ints> u;
  const VI bytes = hn::GatherOffset(d, reinterpret_cast<const std::int32_t*>(row), at);
  const VI both = hn::BitCast(d, hn::Shr(hn::BitCast(u, bytes), hn::BitCast(u, shift)));
  const VI byte = hn::Set(d, 0xff);
  const VI first = hn::And(both, byte), second = hn::And(hn::ShiftRight<8>(both), byte);
  return hn::Add(hn::ShiftLeft<8>(first), hn::Mul(weight, hn::Sub(second, first)));
}

// At least kLanes columns of a row, from `left` on.
void resize_row(const std::uint8_t* first, const std::uint8_t* second, int weight_second,
                const LinearResize::VectorColumns& columns, int left, int width,
                std::uint8_t* out) {
  const Ints d;
  const hn::Rebind<std::uint8_t, Ints> bytes;
  const VI lower = hn::Set(d, weight_second), half = hn::Set(d, 1 << 15);
  for (int begin = 0; begin < width; begin += kLanes) {
    const int x = begin + kLanes <= width ? begin : width - kLanes;
    const int from = left + x;
    const VI at = hn::LoadU(d, columns.at.data() + from),
             shift = hn::LoadU(d, columns.shift.data() + from);
    const VI weight = hn::LoadU(d, columns.weight_second.data() + from);
    const VI a = along_row(first, at, shift, weight), b = along_row(second, at, shift, weight);
    const VI sum = hn::Add(hn::ShiftLeft<8>(a), hn::Mul(lower, hn::Sub(b, a)));
    hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<16>(hn::Add(sum, half))), bytes, out + x);
  }
}

int lanes() { return kLanes; }

}  // namespace cuface::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>

namespace cuface {
namespace {

constexpr int kOne = 256;  // the weight 1

// For every destination index the source pair it lies between. Beyond the centres of the outermost
// source pixels the outermost pixel is repeated.
std::vector<LinearResize::Tap> make_taps(int source, int destination) {
  const double inverse = static_cast<double>(destination) / source;
  const double scale = 1.0 / inverse;
  std::vector<LinearResize::Tap> taps(static_cast<std::size_t>(destination));
  for (int i = 0; i < destination; ++i) {
    const double position = scale * (i + 0.5) - 0.5;
    const int floor = static_cast<int>(std::floor(position));
    LinearResize::Tap& tap = taps[static_cast<std::size_t>(i)];
    if (floor < 0) {
      tap = {0, 0, kOne, 0};
    } else if (floor >= source - 1) {
      tap = {source - 1, source - 1, kOne, 0};
    } else {
      const int weight = static_cast<int>(std::lrint((position - floor) * kOne));
      tap = {floor, floor + 1, static_cast<std::uint16_t>(kOne - weight),
             static_cast<std::uint16_t>(weight)};
    }
  }
  return taps;
}

LinearResize::VectorColumns vector_columns(const std::vector<LinearResize::Tap>& taps, int source) {
  LinearResize::VectorColumns columns;
  if (source < 4) return columns;
  for (const LinearResize::Tap& tap : taps) {
    const int at = std::min(tap.first, source - 4);
    columns.at.push_back(at);
    columns.shift.push_back(8 * (tap.first - at));
    columns.weight_second.push_back(tap.weight_second);
  }
  return columns;
}

HWY_EXPORT(resize_row);
HWY_EXPORT(lanes);

}  // namespace

LinearResize::LinearResize(int src_width, int src_height, int dst_width, int dst_height)
    : columns_(make_taps(src_width, dst_width)),
      rows_(make_taps(src_height, dst_height)),
      vector_columns_(vector_columns(columns_, src_width)) {}

void LinearResize::row(ImageView<const std::uint8_t> src, int y, int first_column, int count,
                       std::uint8_t* dst) const {
  const Tap& tap = rows_[static_cast<std::size_t>(y)];
  const std::uint8_t *first = src.row(tap.first), *second = src.row(tap.second);
  if (simd::vectors() && src.width >= 4 && count >= HWY_DYNAMIC_DISPATCH(lanes)()) {
    HWY_DYNAMIC_DISPATCH(resize_row)
    (first, second, tap.weight_second, vector_columns_, first_column, count, dst);
    return;
  }
  for (int x = first_column; x < first_column + count; ++x) {
    const Tap& column = columns_[static_cast<std::size_t>(x)];
    *dst++ = blend(along_row(first, column), along_row(second, column), tap.weight_first,
                   tap.weight_second);
  }
}

void LinearResize::run(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst) const {
  for (int y = 0; y < dst.height; ++y) row(src, y, dst.row(y));
}

void resize_linear_exact(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst) {
  LinearResize(src.width, src.height, dst.width, dst.height).run(src, dst);
}

}  // namespace cuface
#endif
