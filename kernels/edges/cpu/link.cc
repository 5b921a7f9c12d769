// Linking, 64 pixels at a time, and in sweeps as many words as a vector has.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/edges/cpu/link.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <utility>

#include "kernels/common/dispatch.h"
#include "kernels/edges/cpu/rows.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::edges::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void sweep_rows(BitMap&, BitMap&, std::uint8_t*, int, int) {}
#else

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<std::uint64_t>;
static_assert(hn::MaxLanes(Lanes()) <= BitMap::kRim, "vectors read the rim");

/// The ridge pixels of a row that touch edges become edges, and those that touch them in the row.
/// Whether there are any.
HWY_INLINE bool grow_row(const std::uint64_t* ridges, const std::uint64_t* above,
                         std::uint64_t* here, const std::uint64_t* below, int words) {
  const Lanes d;
  const auto ends = hn::Set(d, std::uint64_t{1} << 63 | 1);
  bool changed = false;
  for (bool again = true; again;) {
    again = false;
    for (int i = 0; i < words; i += static_cast<int>(hn::Lanes(d))) {
      const auto is = hn::LoadU(d, here + i);
      const auto open = hn::AndNot(is, hn::LoadU(d, ridges + i));
      const auto column = [&](int by) HWY_ATTR {
        return hn::Or(hn::Or(hn::LoadU(d, above + i + by), hn::LoadU(d, here + i + by)),
                      hn::LoadU(d, below + i + by));
      };
      const auto beside = [&](auto v) HWY_ATTR {
        return hn::Or(hn::ShiftLeft<1>(v), hn::ShiftRight<1>(v));
      };
      const auto all_three = column(0);
      const auto from_words = hn::Or(hn::ShiftRight<63>(column(-1)), hn::ShiftLeft<63>(column(1)));
      auto added = hn::And(open, hn::Or(hn::Or(all_three, beside(all_three)), from_words));
      if (hn::AllTrue(d, hn::Eq(added, hn::Zero(d)))) continue;
      for (auto before = hn::Zero(d); !hn::AllTrue(d, hn::Eq(added, before));) {
        before = added;
        added = hn::Or(added, hn::And(open, beside(added)));
        added = hn::Or(added, hn::And(open, beside(added)));
      }
      hn::StoreU(hn::Or(is, added), d, here + i);
      changed = true;
      again |= !hn::AllTrue(d, hn::Eq(hn::And(added, ends), hn::Zero(d)));
    }
  }
  return changed;
}

/// Grows the rows from `first` to `last`, of those that are pending.
void sweep_rows(BitMap& ridges, BitMap& edges, std::uint8_t* pending, int first, int last) {
  const int step = first <= last ? 1 : -1;
  for (int y = first; y != last + step; y += step) {
    if (!pending[y]) continue;
    pending[y] = 0;
    if (grow_row(ridges.row(y), edges.row(y - 1), edges.row(y), edges.row(y + 1), edges.words()))
      pending[y - 1] = pending[y + 1] = 1;
  }
}

#endif
}  // namespace cuface::edges::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::edges {
namespace {

HWY_EXPORT(sweep_rows);

/// The ridge pixels of a word that touch edges become edges, and those that touch them there.
/// Whether there are any.
bool grow_word(std::uint64_t ridges, const std::uint64_t* above, std::uint64_t* here,
               const std::uint64_t* below) {
  const std::uint64_t open = ridges & ~*here;
  if (!open) return false;
  const auto column = [&](int i) { return above[i] | here[i] | below[i]; };
  const std::uint64_t all_three = column(0);
  std::uint64_t added =
      open & (all_three | all_three << 1 | all_three >> 1 | column(-1) >> 63 | column(1) << 63);
  if (!added) return false;
  for (std::uint64_t all = 0; all != added;) {
    all = added;
    added |= open & (all << 1 | all >> 1);
  }
  *here |= added;
  return true;
}

}  // namespace

Linker::Linker(int width, int height, const EdgeRules& rules)
    : height_(height),
      rules_(rules),
      pending_(static_cast<std::size_t>(height) + 2),
      waits_(rules.linking == Linking::kHysteresis
                 ? static_cast<std::size_t>(words_of(width)) * static_cast<std::size_t>(height)
                 : 0),
      changed_(waits_.size()),
      wide_(rules.linking == Linking::kApron ? width : 1,
            rules.linking == Linking::kApron ? height : 1) {}

void Linker::run(BitMap& ridges, BitMap& edges) {
  if (rules_.linking == Linking::kHysteresis) grow(ridges, edges);
  if (rules_.linking == Linking::kApron) widen(ridges, edges);
}

/// Sweeps down, up and down; what goes on along a row is followed in one go. That is all for most
/// pictures. An edge that winds would need a sweep a bend, so the rest is followed word by word.
void Linker::grow(BitMap& ridges, BitMap& edges) {
  std::fill(pending_.begin(), pending_.end(), std::uint8_t{1});
  std::uint8_t* pending = pending_.data() + 1;
  const int last = height_ - 1;
  for (const auto& [from, to] : {std::pair(0, last), std::pair(last, 0), std::pair(0, last)})
    CUFACE_DISPATCH(sweep_rows)(ridges, edges, pending, from, to);
  follow(ridges, edges);
}

void Linker::follow(BitMap& ridges, BitMap& edges) {
  const int words = edges.words();
  int count = 0;
  const auto grow_at = [&](int i, int y) {
    if (i < 0 || i >= words || y < 0 || y >= height_) return;
    if (!grow_word(ridges.row(y)[i], edges.row(y - 1) + i, edges.row(y) + i, edges.row(y + 1) + i))
      return;
    std::uint8_t& waits = waits_[static_cast<std::size_t>(y * words + i)];
    if (waits) return;
    waits = 1;
    changed_[static_cast<std::size_t>(count++)] = y * words + i;
  };
  for (int row = 0; row < height_; ++row) {
    if (!pending_[static_cast<std::size_t>(row + 1)]) continue;
    for (int word = 0; word < words; ++word) grow_at(word, row);
    while (count > 0) {
      const int at = changed_[static_cast<std::size_t>(--count)], i = at % words, y = at / words;
      waits_[static_cast<std::size_t>(at)] = 0;
      const std::uint64_t here = edges.row(y)[i];
      grow_at(i, y - 1);
      grow_at(i, y + 1);
      for (int j = -1; j <= 1; ++j) {
        if (here & 1) grow_at(i - 1, y + j);
        if (here >> 63) grow_at(i + 1, y + j);
      }
    }
  }
}

/// All of `ridges` in the boxes around edges.
void Linker::widen(BitMap& ridges, BitMap& edges) {
  const int words = edges.words(), reach = rules_.apron;
  for (int y = 0; y < height_; ++y) {
    const std::uint64_t* from = edges.row(y);
    std::uint64_t* to = wide_.row(y);
    for (int i = 0; i < words; ++i) {
      std::uint64_t all = from[i];
      for (int by = 1; by <= reach; ++by)
        all |= from[i] << by | from[i] >> by | from[i - 1] >> (64 - by) | from[i + 1] << (64 - by);
      to[i] = all;
    }
  }
  for (int y = 0; y < height_; ++y) {
    for (int i = 0; i < words; ++i) {
      std::uint64_t all = 0;
      for (int j = std::max(y - reach, 0); j <= std::min(y + reach, height_ - 1); ++j)
        all |= wide_.row(j)[i];
      edges.row(y)[i] |= all & ridges.row(y)[i];
    }
  }
}

}  // namespace cuface::edges
#endif
