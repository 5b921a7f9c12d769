// The search of a level's rows, compiled for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cascade/cpu/search.cc"
#include "kernels/cascade/cpu/search.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/cascade/cpu/stages-inl.h"
#include "kernels/cascade/row_rule.h"
#include "kernels/common/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
bool search_parts(VectorSearch&, const LevelSums&, std::span<const SearchPart>) { return true; }
#else

// As long as more windows of a vector are left they stay together: where waiting windows are
// copied, where they are not, and copies.
constexpr int kFewWindows = kLanes / 4, kFewWindowsScattered = kLanes / 8;
constexpr int kFewPacked = kLanes * 3 / 16;
// As few waiting windows are taken one by one where they are not copied.
constexpr std::size_t kFewWaiting = kLanes < 8 ? 1 : 2;

// The sums of a level, and their lower halves.
struct Planes {
  const std::int32_t* sums;
  const std::int16_t* shorts;
  const std::int16_t* in_order;  ///< with the columns in order: what lies at i is at step * i
};

// Puts the windows `passed` of a vector on the list of a stage, or of those found behind the last.
// The list has room: full ones are taken before the next two vectors come (take_full()).
inline void put(VectorSearch& search, std::size_t stage, VI offsets, VF norm, Bits passed) {
  if (passed == 0) return;
  if (stage == search.stages().size()) {
    alignas(64) std::int32_t lanes[kLanes];
    hn::Store(offsets, Ints(), lanes);
    for (; passed != 0; passed &= passed - 1) {
      search.found().push_back(lanes[std::countr_zero(passed)]);
    }
    return;
  }
  WaitingWindows& list = search.waiting(stage);
  std::uint8_t bytes[8] = {};
  std::memcpy(bytes, &passed, sizeof passed);
  hn::CompressBitsStore(offsets, bytes, Ints(), list.offset.data() + list.count);
  hn::CompressBitsStore(norm, bytes, Floats(), list.norm.data() + list.count);
  list.count += static_cast<std::size_t>(std::popcount(passed));
  if (list.is_full()) search.set_full(std::max(search.full(), stage));
}

// Takes the windows of two vectors through stages from `stage` on, together and then each by
// itself. It goes up to `least`, then on while more than `few` of a vector are left. What is left
// goes where it waits.
template <class Windows, class Offsets>
HWY_INLINE void take_stages(VectorSearch& search, const std::vector<VectorStage>& stages,
                            std::size_t stage, std::size_t least, int few, const Windows& windows,
                            const Offsets& offsets, const float* norms, Bits asked) {
  const VF norm[2] = {hn::LoadU(Floats(), norms), hn::LoadU(Floats(), norms + kLanes)};
  const auto many = [few](Bits bits) { return std::popcount(bits & kAllLanes) > few; };
  while (stage < stages.size() && many(asked) && many(asked >> kLanes)) {
    asked = passing(search, stages, stage++, windows, norm, asked);
  }
  std::size_t at[2] = {stage, stage};
  Bits left[2] = {asked & kAllLanes, asked >> kLanes};
  for (std::size_t p = 0; p < 2; ++p) {
    const VF part_norm[1] = {norm[p]};
    const Windows part = windows.from(p * kLanes);
    while (left[p] != 0 && (at[p] < least || (at[p] < stages.size() && many(left[p])))) {
      left[p] = passing(search, stages, at[p]++, part, part_norm, left[p]);
    }
  }
  for (std::size_t p = 0; p < 2; ++p) put(search, at[p], offsets(p), norm[p], left[p]);
}

// Takes some windows that wait for a stage through it.
inline void take_scattered(VectorSearch& search, const Planes& planes, std::size_t stage,
                           const std::int32_t* offset, const float* norms, Bits asked) {
  const Scattered windows{planes.sums, offset};
  const VF norm[1] = {hn::LoadU(Floats(), norms)};
  put(search, stage + 1, hn::LoadU(Ints(), offset), norm[0],
      passing(search, search.stages(), stage, windows, norm, asked));
}

// The same of up to two vectors with copies, and on while they pay.
inline void take_packed(VectorSearch& search, const Planes& planes, std::size_t stage,
                        const std::int32_t* offset, const float* norms, Bits asked) {
  const std::vector<VectorStage>& stages = search.packed_stages(kCopyStride);
  std::int16_t* const copy = search.packed();
  alignas(64) std::int32_t in_order[2 * kLanes];
  for (std::size_t i = 0; i < std::size(in_order); ++i) {
    in_order[i] = offset[i] * search.packed_layout().step;
  }
  pack(search.packed_layout(), planes.in_order, in_order, asked > kAllLanes, copy);
  const Packed windows{{planes.sums, offset}, copy};
  take_stages(
      search, stages, stage, stage + 1, kFewPacked, windows,
      [&](std::size_t p) { return hn::LoadU(Ints(), offset + p * kLanes); }, norms, asked);
}

// Takes as many windows that wait for a stage through it as fill vectors, or all if they are fewer.
inline void take_some(VectorSearch& search, const Planes& planes, std::size_t stage) {
  WaitingWindows& list = search.waiting(stage);
  const bool packs = search.packed_layout().packs();
  std::int32_t* const offset = list.offset.data();
  const std::size_t taken = std::min(list.count, packs ? 2 * kLanes : kLanes);
  list.count -= taken;
  const std::size_t first = list.count;
  std::fill_n(offset + first + taken, 2 * kLanes - taken, offset[first]);
  (packs ? take_packed : take_scattered)(search, planes, stage, offset + first,
                                         list.norm.data() + first, ~Bits{0} >> (32 - taken));
}

// Takes windows from the full lists until none is full. The last stage comes first. What it passes
// on goes to lists behind it. None of them is full, so each has room for two vectors. A loop, not
// a recursion: a hostile cascade can fill the lists of all its stages.
inline void take_full(VectorSearch& search, const Planes& planes) {
  while (std::size_t stage = search.full()) {
    take_some(search, planes, stage);
    if (search.full() > stage || search.waiting(stage).count >= 2 * kLanes) continue;
    while (stage > 0 && !search.waiting(stage).is_full()) --stage;
    search.set_full(stage);
  }
}

// Takes all windows that wait for a stage through it.
inline void take_waiting(VectorSearch& search, const Planes& planes, std::size_t stage) {
  WaitingWindows& list = search.waiting(stage);
  const std::size_t few = search.packed_layout().packs() ? 0 : kFewWaiting;
  while (list.count > few) {
    take_some(search, planes, stage);
    take_full(search, planes);
  }
  const std::int32_t* const offset = list.offset.data();
  const float* const norm = list.norm.data();
  const std::uint32_t* sums = reinterpret_cast<const std::uint32_t*>(planes.sums);
  for (; list.count > 0; --list.count) {
    const std::size_t i = list.count - 1;
    if (search.cascade().failed_stage(sums + offset[i], norm[i], stage) == search.stages().size()) {
      search.found().push_back(offset[i]);
    }
  }
}

// What the norms of a row's windows are made of: corners of the window less a border of one pixel.
struct NormCorners {
  double area;
  std::int32_t corner[4];

  explicit NormCorners(const BoundCascade& cascade) {
    const int w = cascade.model().window_width, h = cascade.model().window_height;
    const SumLayout& layout = cascade.layout();
    area = (w - 2) * (h - 2);
    corner[0] = static_cast<std::int32_t>(layout.offset(1, 1));
    corner[1] = static_cast<std::int32_t>(layout.offset(w - 1, 1));
    corner[2] = static_cast<std::int32_t>(layout.offset(1, h - 1));
    corner[3] = static_cast<std::int32_t>(layout.offset(w - 1, h - 1));
  }
};

HWY_INLINE VI inner_sum(const NormCorners& n, const std::int32_t* plane) {
  return rect_sum([&](std::int32_t i) { return hn::LoadU(Ints(), plane + i); }, n.corner);
}

// inverse_norm() for half a vector.
template <class V>
HWY_INLINE auto inverse_norms(double area, V sum, V squares) {
  const hn::RebindToFloat<hn::DFromV<V>> half;
  const hn::Rebind<double, decltype(half)> d;
  const hn::DFromV<V> i;
  const auto s = hn::PromoteTo(d, sum);
  const hn::RebindToUnsigned<hn::DFromV<V>> u;
  const auto high = hn::PromoteTo(d, hn::BitCast(i, hn::ShiftRight<16>(hn::BitCast(u, squares))));
  const auto low = hn::PromoteTo(d, hn::And(squares, hn::Set(i, 0xffff)));
  const auto q = hn::Add(hn::Mul(high, hn::Set(d, 65536.0)), low);
  const auto a = hn::Set(d, area);
  const auto nf = hn::Sub(hn::Mul(a, q), hn::Mul(s, s));
  const auto v = hn::DemoteTo(half, hn::Div(hn::Set(d, 1.0), hn::Sqrt(nf)));
  const auto wide = hn::PromoteTo(d, v);
  const auto usable = hn::And(hn::Gt(nf, hn::Zero(d)), hn::Lt(hn::Mul(a, wide), hn::Set(d, 0.1)));
  return hn::DemoteTo(half, hn::IfThenElseZero(usable, wide));
}

HWY_INLINE VF row_norms(const NormCorners& n, const std::int32_t* sum,
                        const std::int32_t* squared) {
  const hn::Half<Ints> half;
  const VI s = inner_sum(n, sum), q = inner_sum(n, squared);
  return hn::Combine(Floats(),
                     inverse_norms(n.area, hn::UpperHalf(half, s), hn::UpperHalf(half, q)),
                     inverse_norms(n.area, hn::LowerHalf(half, s), hn::LowerHalf(half, q)));
}

inline Bits bits_at(const std::uint64_t* words, std::size_t i) {
  return static_cast<Bits>(words[i / 64] >> (i % 64) & (kAllLanes << kLanes | kAllLanes));
}

// The first stage of the windows `there` of kParts vectors of a row, from window `i` on.
template <std::size_t kParts>
HWY_INLINE void first_stage_of(VectorSearch& search, const NormCorners& corners,
                               const SideBySide& row, const std::int32_t* squared, std::size_t i,
                               Bits there) {
  const Floats f;
  VF norm[kParts];
  Bits asked = 0;
  for (std::size_t p = 0; p < kParts; ++p) {
    const std::size_t at = i + p * kLanes;
    norm[p] = row_norms(corners, row.first + at, squared + at);
    hn::StoreU(norm[p], f, search.row_norm().data() + at);
    asked |= bits_of(f, hn::Gt(norm[p], hn::Zero(f))) << p * kLanes;
  }
  asked &= there;
  const Bits passed =
      asked == 0 ? 0 : passing(search, search.stages(), 0, row.from(i), norm, asked);
  search.alive()[i / 64] |= std::uint64_t{passed} << (i % 64);
  search.failed()[i / 64] |= std::uint64_t{asked & ~passed} << (i % 64);
}

// The first stage of a row of windows, those of `active` or all: leaves in alive() a bit for each
// window that passes it.
inline void first_stage(VectorSearch& search, const NormCorners& corners, const SideBySide& row,
                        const std::int32_t* squared, std::size_t count,
                        const std::uint64_t* active) {
  std::vector<std::uint64_t>&failed = search.failed(), &alive = search.alive();
  const std::size_t words = (count + 63) / 64;
  std::fill_n(failed.begin(), words, 0);
  std::fill_n(alive.begin(), words, 0);
  for (std::size_t i = 0; i < count; i += 2 * kLanes) {
    if (i % kWindowsPerLook == 0 && search.stopped()) return;
    Bits there = ~Bits{0} >> (32 - std::min(count - i, 2 * kLanes));
    if (active) there &= bits_at(active, i);
    if (there == 0) continue;
    if ((there >> kLanes) == 0)
      first_stage_of<1>(search, corners, row, squared, i, there);
    else
      first_stage_of<2>(search, corners, row, squared, i, there);
  }
  bool carry = false;
  for (std::size_t w = 0; w < words; ++w) alive[w] &= ~skipped_windows(failed[w], carry);
}

// A part's windows side by side. False once the search is stopped.
bool search_rows(VectorSearch& search, const NormCorners& corners, const Planes& planes,
                 const std::int32_t* squared, const SearchPart& part) {
  const SearchGrid& grid = part.grid;
  const int stride = search.cascade().layout().stride;
  const std::size_t count = static_cast<std::size_t>((grid.columns + grid.step - 1) / grid.step);
  const int few = search.packed_layout().packs() ? kFewWindows : kFewWindowsScattered;
  for (int y = 0; y < grid.rows; y += grid.step) {
    const std::int32_t start = (part.row + y) * stride;
    const SideBySide row{planes.sums + start, planes.shorts + start};
    first_stage(search, corners, row, squared + start, count, part.mask.row(y / grid.step));
    for (std::size_t i = 0; i < count; i += 2 * kLanes) {
      if (i % kWindowsPerLook == 0 && search.stopped()) return false;
      const Bits alive = bits_at(search.alive().data(), i);
      if (alive == 0) continue;
      const auto offsets = [&](std::size_t p) HWY_ATTR {
        const auto first = start + static_cast<std::int32_t>(i + p * kLanes);
        return hn::Add(hn::Iota(Ints(), 0), hn::Set(Ints(), first));
      };
      take_stages(search, search.stages(), 1, 1, few, row.from(i), offsets,
                  search.row_norm().data() + i, alive);
      take_full(search, planes);
    }
  }
  return true;
}

// False once the search is stopped; then windows may be left waiting.
bool search_parts(VectorSearch& search, const LevelSums& sums, std::span<const SearchPart> parts) {
  const NormCorners corners(search.cascade());
  const Planes planes{reinterpret_cast<const std::int32_t*>(sums.sum),
                      reinterpret_cast<const std::int16_t*>(sums.shorts),
                      reinterpret_cast<const std::int16_t*>(sums.shorts_in_order)};
  const auto* const squared = reinterpret_cast<const std::int32_t*>(sums.squared);
  for (const SearchPart& part : parts)
    if (part.grid.columns > 0 && !search_rows(search, corners, planes, squared, part)) return false;
  for (std::size_t stage = 1; stage < search.stages().size(); ++stage) {
    if (search.stopped()) return false;
    take_waiting(search, planes, stage);
  }
  return true;
}

#endif
}  // namespace cuface::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface {

HWY_EXPORT(search_parts);

bool VectorSearch::run(const LevelSums& sums, std::span<const SearchPart> parts, std::size_t limit,
                       std::vector<RawWindow>& out) {
  found_.clear();
  waiting_->clear();  // a search that had no memory, or was stopped, may have left some
  if (!CUFACE_DISPATCH(search_parts)(*this, sums, parts)) return false;
  // Offsets grow with y, and in a row of the windows' columns with x.
  std::sort(found_.begin(), found_.end());
  const SumLayout& layout = cascade().layout();
  auto part = parts.begin();
  for (const std::int32_t offset : found_) {
    if (out.size() >= limit) return false;
    const int row = offset / layout.stride;
    while (row >= part->row + part->grid.rows) ++part;
    out.push_back({part->level, part->left + offset % layout.stride * layout.step,
                   part->top + row - part->row});
  }
  return true;
}

}  // namespace cuface
#endif
