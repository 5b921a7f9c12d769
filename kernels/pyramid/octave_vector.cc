#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pyramid/octave_vector.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/common/border.h"
#include "kernels/common/dispatch.h"
#include "kernels/pyramid/octave.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::octave::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void make_part(ImageView<const std::uint8_t>, ImageView<std::uint8_t>, Rect) {}
#else

namespace hn = hwy::HWY_NAMESPACE;

using Shorts = hn::ScalableTag<std::uint16_t>;
using Bytes = hn::Repartition<std::uint8_t, Shorts>;

/// [1 4 6 4 1] of five values or sums.
template <typename V>
HWY_INLINE V weighted(V a, V b, V c, V d, V e) {
  const V near = hn::Add(hn::Add(b, d), c);
  return hn::Add(hn::Add(hn::Add(a, e), hn::Add(c, c)), hn::ShiftLeft<2>(near));
}

/// The filter along a row at columns 2 * x, x from `begin`: a vector from x = begin on, whose five
/// pixels all lie in the row.
HWY_INLINE void filter_vector(const std::uint8_t* row, int x, std::uint16_t* out) {
  const Shorts d;
  const auto pairs_at = [&](int column) {  // little-endian: even columns are the low bytes
    return hn::BitCast(d, hn::LoadU(Bytes(), row + column));
  };
  const auto left = pairs_at(2 * x - 2), middle = pairs_at(2 * x), right = pairs_at(2 * x + 2);
  const auto low = hn::Set(d, 255);
  hn::StoreU(weighted(hn::And(left, low), hn::ShiftRight<8>(left), hn::And(middle, low),
                      hn::ShiftRight<8>(middle), hn::And(right, low)),
             d, out);
}

/// What a vector may write beside what is asked for.
constexpr int kMargin = HWY_MAX_BYTES / sizeof(std::uint16_t);

constexpr int kRowsAhead = 36, kCacheLine = 64;

/// The filter along a row for the destination columns [begin, begin + count); up to kMargin values
/// before and behind them are overwritten.
void filter_row(const std::uint8_t* row, int width, int begin, int count, std::uint16_t* out) {
  const int lanes = static_cast<int>(hn::Lanes(Shorts()));
  const int end = begin + count;
  const auto at = [&](int column) { return static_cast<int>(row[reflect_101(column, width)]); };
  const auto one = [&](int x) {
    const int c = 2 * x;
    out[x - begin] =
        static_cast<std::uint16_t>(at(c - 2) + at(c + 2) + 4 * (at(c - 1) + at(c + 1)) + 6 * at(c));
  };
  int x = begin;
  if (x == 0) one(x++);
  // The last vector may begin before those asked for, and end behind them.
  const int last = (width - 2) / 2 - lanes;
  for (; x < end && x <= last; x += lanes) filter_vector(row, x, out + (x - begin));
  if (x < end && last > 0 && last > x - lanes) {
    filter_vector(row, last, out + (last - begin));
    x = last + lanes;
  }
  for (; x < end; ++x) one(x);
}

/// The filter down filtered rows, rounded.
void filter_columns(const std::uint16_t* const rows[5], int count, std::uint8_t* out) {
  const Shorts d;
  const hn::RebindToSigned<Shorts> shorts;
  const hn::Rebind<std::uint8_t, Shorts> bytes;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = 0;
  for (; x + lanes <= count; x += lanes) {
    const auto row = [&](int k) { return hn::LoadU(d, rows[k] + x); };
    const auto sum = hn::Add(weighted(row(0), row(1), row(2), row(3), row(4)), hn::Set(d, 128));
    hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(shorts, hn::ShiftRight<8>(sum))), bytes, out + x);
  }
  for (; x < count; ++x) {
    const int sum = rows[0][x] + rows[4][x] + 4 * (rows[1][x] + rows[3][x]) + 6 * rows[2][x];
    out[x] = static_cast<std::uint8_t>((sum + 128) >> 8);
  }
}

/// Along the rows first, so that every row is read once.
void make_part(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst, Rect part) {
  constexpr int kTaps = 5;
  alignas(64) std::uint16_t ring[kTaps][kMargin + kChunk + kMargin];
  const int right = part.x + part.w;
  for (int begin = part.x; begin < right; begin += kChunk) {
    const int count = std::min(kChunk, right - begin);
    int next = 2 * part.y - 2;  // row to be filtered next
    for (int y = part.y; y < part.y + part.h; ++y) {
      for (; next <= 2 * y + 2; ++next) {
        filter_row(src.row(reflect_101(next, src.height)), src.width, begin, count,
                   ring[(next + 2) % kTaps] + kMargin);
        // A part's rows are short and far apart: the processor does not see what comes next, which
        // is mostly the part below.
        const std::uint8_t* ahead = src.row(std::min(next + kRowsAhead, src.height - 1));
        for (int x = 2 * begin; x < 2 * (begin + count); x += kCacheLine) hwy::Prefetch(ahead + x);
      }
      const std::uint16_t* rows[kTaps];
      for (int k = 0; k < kTaps; ++k) rows[k] = ring[(2 * y + k) % kTaps] + kMargin;
      filter_columns(rows, count, dst.row(y) + begin);
    }
  }
}

#endif
}  // namespace cuface::octave::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::octave {

HWY_EXPORT(make_part);

void make_vector(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst, Rect part) {
  CUFACE_DISPATCH(make_part)(src, dst, part);
}

}  // namespace cuface::octave
#endif
