// Bilinear resizing in fixed point: weights with 8 fraction bits in each direction, rounded once at
// the end. The sample positions are double arithmetic with a fixed order of operations, so every
// machine computes the same weights.
#include <algorithm>

#include "kernels/common/simd.h"
#include "kernels/pyramid/pyramid.h"
#include "kernels/pyramid/tap.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pyramid/resize.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Ints = hn::ScalableTag<std::int32_t>;
using VI = hn::Vec<Ints>;

constexpr int kLanes = static_cast<int>(hn::MaxLanes(Ints()));

// What some columns of a row are made of.
struct Columns {
  const LinearResize::VectorColumns& all;
  int from;
  VI weight = hn::LoadU(Ints(), all.weight_second.data() + from);

  // The two pixels of each column in its low bytes.
  HWY_INLINE VI pixels(const std::uint8_t* row) const {
    const Ints d;
    const hn::RebindToUnsigned<Ints> u;
    const VI at = hn::LoadU(d, all.at.data() + from), shift = hn::LoadU(d, all.shift.data() + from);
    const VI bytes = hn::GatherOffset(d, reinterpret_cast<const std::int32_t*>(row), at);
    return hn::BitCast(d, hn::Shr(hn::BitCast(u, bytes), hn::BitCast(u, shift)));
  }
  // The row's values, times 256.
  HWY_INLINE VI along_row(VI pixels) const {
    const VI byte = hn::Set(Ints(), 0xff);
    const VI first = hn::And(pixels, byte), second = hn::And(hn::ShiftRight<8>(pixels), byte);
    return hn::Add(hn::ShiftLeft<8>(first), hn::Mul(weight, hn::Sub(second, first)));
  }
  // Those of two rows, rounded.
  HWY_INLINE void blend(VI above, VI below, int weight_below, std::uint8_t* out) const {
    const Ints d;
    const hn::Rebind<std::uint8_t, Ints> bytes;
    const VI a = along_row(above), b = along_row(below);
    const VI sum = hn::Add(hn::ShiftLeft<8>(a), hn::Mul(hn::Set(d, weight_below), hn::Sub(b, a)));
    const VI rounded = hn::ShiftRight<16>(hn::Add(sum, hn::Set(d, 1 << 15)));
    hn::StoreU(hn::DemoteTo(bytes, rounded), bytes, out);
  }
};

#if HWY_TARGET == HWY_AVX3
}  // namespace cuface::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// For machines that have simd::byte_permutes() as well.
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vbmi")
namespace cuface::HWY_NAMESPACE {

constexpr int kRegister = 64;

// resize_row() of rows of kRegister pixels or more: what columns that lie near each other read fits
// a register, where one permute finds it for all.
void resize_row_bytes(const std::uint8_t* first, const std::uint8_t* second, int weight_second,
                      const LinearResize::VectorColumns& columns, int source, int left, int width,
                      std::uint8_t* out) {
  const Ints d;
  const hn::Repartition<std::uint8_t, Ints> bytes;
  for (int begin = 0; begin < width; begin += kLanes) {
    const int x = std::min(begin, width - kLanes);
    const Columns these{columns, left + x};
    const auto tap = [&](int i) {
      const auto column = static_cast<std::size_t>(left + x + i);
      return columns.at[column] + columns.shift[column] / 8;
    };
    const int start = std::min(tap(0), source - kRegister);
    // A row's last pixel is the first of a column whose second has no weight.
    if (tap(kLanes - 1) + 1 - start >= kRegister && start != source - kRegister) {
      these.blend(these.pixels(first), these.pixels(second), weight_second, out + x);
      continue;
    }
    const VI four = hn::LoadU(d, columns.at.data() + left + x);
    const VI shift = hn::LoadU(d, columns.shift.data() + left + x);
    const VI at = hn::Sub(hn::Add(four, hn::ShiftRight<3>(shift)), hn::Set(d, start));
    const VI index = hn::Add(hn::Add(hn::ShiftLeft<8>(at), at), hn::Set(d, 256));
    const auto pixels = [&](const std::uint8_t* row) {
      const auto part = hn::LoadU(bytes, row + start);
      return VI{_mm512_permutexvar_epi8(index.raw, part.raw)};
    };
    these.blend(pixels(first), pixels(second), weight_second, out + x);
  }
}

}  // namespace cuface::HWY_NAMESPACE
HWY_POP_ATTRIBUTES

HWY_BEFORE_NAMESPACE();
namespace cuface::HWY_NAMESPACE {
#endif

// At least kLanes columns of a row of `source` pixels, from `left` on.
void resize_row(const std::uint8_t* first, const std::uint8_t* second, int weight_second,
                const LinearResize::VectorColumns& columns, [[maybe_unused]] int source, int left,
                int width, std::uint8_t* out) {
#if HWY_TARGET == HWY_AVX3
  if (simd::byte_permutes() && source >= kRegister) {
    return resize_row_bytes(first, second, weight_second, columns, source, left, width, out);
  }
#endif
  for (int begin = 0; begin < width; begin += kLanes) {
    const int x = std::min(begin, width - kLanes);
    const Columns these{columns, left + x};
    these.blend(these.pixels(first), these.pixels(second), weight_second, out + x);
  }
}

// Half the width and weights of a half: means of four pixels, halves rounded up.
void halve_row(const std::uint8_t* first, const std::uint8_t* second, int width,
               std::uint8_t* out) {
  const hn::ScalableTag<std::uint16_t> d;
  const hn::Repartition<std::uint8_t, decltype(d)> bytes;
  const hn::Rebind<std::uint8_t, decltype(d)> half;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto pairs = [&](const std::uint8_t* row, int x) {
    const auto both = hn::BitCast(d, hn::LoadU(bytes, row + 2 * x));
    return hn::Add(hn::And(both, hn::Set(d, 255)), hn::ShiftRight<8>(both));
  };
  for (int begin = 0; begin < width; begin += lanes) {
    const int x = std::min(begin, width - lanes);
    const auto sum = hn::Add(hn::Add(pairs(first, x), pairs(second, x)), hn::Set(d, 2));
    const auto mean = hn::BitCast(hn::RebindToSigned<decltype(d)>(), hn::ShiftRight<2>(sum));
    hn::StoreU(hn::DemoteTo(half, mean), half, out + x);
  }
}

int lanes() { return kLanes; }
int lanes_of_halves() { return static_cast<int>(hn::Lanes(hn::ScalableTag<std::uint16_t>())); }

}  // namespace cuface::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface {
namespace {

std::vector<LinearResize::Tap> make_taps(int source, int destination) {
  std::vector<LinearResize::Tap> taps(static_cast<std::size_t>(destination));
  for (int i = 0; i < destination; ++i)
    taps[static_cast<std::size_t>(i)] = resize_tap(i, source, destination);
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
HWY_EXPORT(halve_row);
HWY_EXPORT(lanes);
HWY_EXPORT(lanes_of_halves);

// Is each column the mean of two neighbours, and the next one that of the next two?
bool are_halves(const std::vector<LinearResize::Tap>& columns) {
  for (std::size_t x = 0; x < columns.size(); ++x) {
    if (columns[x].first != static_cast<int>(2 * x) || columns[x].weight_second != kWholeWeight / 2)
      return false;
  }
  return true;
}

}  // namespace

LinearResize::LinearResize(int src_width, int src_height, int dst_width, int dst_height)
    : src_width_(src_width),
      columns_(make_taps(src_width, dst_width)),
      rows_(make_taps(src_height, dst_height)),
      vector_columns_(vector_columns(columns_, src_width)),
      halves_(are_halves(columns_)) {}

void LinearResize::row(const std::uint8_t* above, const std::uint8_t* below, int y,
                       int first_column, int count, std::uint8_t* dst) const {
  const Tap& tap = rows_[static_cast<std::size_t>(y)];
  if (simd::vectors() && halves_ && tap.weight_second == kWholeWeight / 2 &&
      count >= CUFACE_DISPATCH(lanes_of_halves)()) {
    const std::ptrdiff_t left = std::ptrdiff_t{2} * first_column;
    CUFACE_DISPATCH(halve_row)(above + left, below + left, count, dst);
    return;
  }
  if (simd::vectors() && src_width_ >= 4 && count >= CUFACE_DISPATCH(lanes)()) {
    CUFACE_DISPATCH(resize_row)
    (above, below, tap.weight_second, vector_columns_, src_width_, first_column, count, dst);
    return;
  }
  for (int x = first_column; x < first_column + count; ++x) {
    const Tap& column = columns_[static_cast<std::size_t>(x)];
    *dst++ = blend(along_row(above, column), along_row(below, column), tap.weight_first,
                   tap.weight_second);
  }
}

bool LinearResize::run(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst,
                       const StopFlag* stop) const {
  for (int y = 0; y < dst.height; ++y) {
    if (y % kRowsPerLook == 0 && is_raised(stop)) return false;
    row(src, y, dst.row(y));
  }
  return true;
}

void resize_linear_exact(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst) {
  LinearResize(src.width, src.height, dst.width, dst.height).run(src, dst);
}

}  // namespace cuface
#endif
