#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fast/fast_vector.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/common/dispatch.h"
#include "kernels/fast/reference.h"
#include "kernels/fast/rows.h"
#include "kernels/fast/rules.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::fast::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void score_row_vector(ImageView<const std::uint8_t>, int, int, int, int, std::uint8_t*) {}
void pick_row_vector(const std::uint8_t*, const std::uint8_t*, const std::uint8_t*, int, int, int,
                     std::vector<Corner>&) {}
#else

namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::ScalableTag<std::uint8_t>;
using VB = hn::Vec<Bytes>;

/// The greatest of the smallest values of all arcs. Two arcs that share eight pixels are one
/// minimum: those eight, and the larger one of the two at their ends.
HWY_INLINE VB best_of_smallest(const VB (&p)[kCircle]) {
  VB pairs[kCircle / 2], fours[kCircle / 2];
  for (int i = 0; i < kCircle / 2; ++i) pairs[i] = hn::Min(p[2 * i + 1], p[(2 * i + 2) % kCircle]);
  for (int i = 0; i < kCircle / 2; ++i) fours[i] = hn::Min(pairs[i], pairs[(i + 1) % 8]);
  VB best = hn::Zero(Bytes());
  for (int i = 0; i < kCircle / 2; ++i) {
    const VB ends = hn::Max(p[2 * i], p[(2 * i + kArc) % kCircle]);
    best = hn::Max(best, hn::Min(hn::Min(fours[i], fours[(i + 2) % 8]), ends));
  }
  return best;
}

/// Where a bright corner can be among these pixels: an arc has two neighbours of any four pixels of
/// the circle that lie a quarter apart.
HWY_INLINE hn::Mask<Bytes> can_be_bright(VB high, VB a, VB b, VB c, VB d) {
  return hn::Gt(hn::Min(hn::Max(a, c), hn::Max(b, d)), high);
}
HWY_INLINE hn::Mask<Bytes> can_be_dark(VB low, VB a, VB b, VB c, VB d) {
  return hn::Lt(hn::Max(hn::Min(a, c), hn::Min(b, d)), low);
}

void score_row_vector(ImageView<const std::uint8_t> grey, int y, int threshold, int first, int end,
                      std::uint8_t* scores) {
  const Bytes d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  if (end - first < lanes) {
    for (int x = first; x < end; ++x)
      scores[x] = static_cast<std::uint8_t>(score_of(grey, x, y, threshold));
    return;
  }
  const std::uint8_t* ring[kCircle];
  for (int i = 0; i < kCircle; ++i) ring[i] = grey.row(y + kRing[i].y) + kRing[i].x;
  const std::uint8_t* row = grey.row(y);
  const VB least = hn::Set(d, static_cast<std::uint8_t>(threshold));
  for (int begin = first; begin < end; begin += lanes) {
    const int x = std::min(begin, end - lanes);
    const auto at = [&](int i) { return hn::LoadU(d, ring[i] + x); };
    const VB centre = hn::LoadU(d, row + x);
    const VB low = hn::SaturatedSub(centre, least), high = hn::SaturatedAdd(centre, least);
    auto bright = can_be_bright(high, at(0), at(4), at(8), at(12));
    auto dark = can_be_dark(low, at(0), at(4), at(8), at(12));
    if (hn::AllFalse(d, hn::Or(bright, dark))) {
      hn::StoreU(hn::Zero(d), d, scores + x);
      continue;
    }
    bright = hn::And(bright, can_be_bright(high, at(2), at(6), at(10), at(14)));
    dark = hn::And(dark, can_be_dark(low, at(2), at(6), at(10), at(14)));
    if (hn::AllFalse(d, hn::Or(bright, dark))) {
      hn::StoreU(hn::Zero(d), d, scores + x);
      continue;
    }
    // A dark corner is a bright one of the inverse picture. Few pixels can be both.
    const auto best_where = [&](VB inverted) {
      VB p[kCircle];
      for (int i = 0; i < kCircle; ++i) p[i] = hn::Xor(at(i), inverted);
      return hn::SaturatedSub(best_of_smallest(p), hn::Xor(centre, inverted));
    };
    VB best = best_where(hn::VecFromMask(d, dark));
    if (!hn::AllFalse(d, hn::And(bright, dark)))
      best = hn::Max(best, best_where(hn::VecFromMask(d, hn::Not(bright))));
    const VB score = hn::IfThenElseZero(hn::Gt(best, least), hn::Sub(best, hn::Set(d, 1)));
    hn::StoreU(score, d, scores + x);
  }
}

void pick_row_vector(const std::uint8_t* above, const std::uint8_t* here, const std::uint8_t* below,
                     int y, int first, int end, std::vector<Corner>& corners) {
  const Bytes d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = first;
  for (; x + lanes <= end; x += lanes) {
    const VB score = hn::LoadU(d, here + x);
    if (hn::AllTrue(d, hn::Eq(score, hn::Zero(d)))) continue;
    VB around = hn::Max(hn::LoadU(d, here + x - 1), hn::LoadU(d, here + x + 1));
    for (int i = -1; i <= 1; ++i) {
      around = hn::Max(around, hn::Max(hn::LoadU(d, above + x + i), hn::LoadU(d, below + x + i)));
    }
    std::uint8_t bytes[8] = {};  // of 64 lanes at most
    hn::StoreMaskBits(d, hn::Gt(score, around), bytes);
    std::uint64_t bits;
    std::memcpy(&bits, bytes, sizeof bits);
    for (; bits != 0; bits &= bits - 1) {
      const int at = x + std::countr_zero(bits);
      corners.push_back({static_cast<std::int16_t>(at), static_cast<std::int16_t>(y), here[at]});
    }
  }
  pick_plain(above, here, below, y, x, end, corners);
}

#endif
}  // namespace cuface::fast::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::fast {

HWY_EXPORT(score_row_vector);
HWY_EXPORT(pick_row_vector);

void score_row(ImageView<const std::uint8_t> grey, int y, int threshold, int first, int end,
               std::uint8_t* scores) {
  CUFACE_DISPATCH(score_row_vector)(grey, y, threshold, first, end, scores);
}

void pick_row(const std::uint8_t* above, const std::uint8_t* here, const std::uint8_t* below, int y,
              int first, int end, std::vector<Corner>& corners) {
  CUFACE_DISPATCH(pick_row_vector)(above, here, below, y, first, end, corners);
}

}  // namespace cuface::fast
#endif
