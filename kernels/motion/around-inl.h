// What is explained by the background around it (around.h), for vector code; to be included for
// each target, behind mixture-inl.h.
#if defined(CUFACE_AROUND_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUFACE_AROUND_INL_H
#undef CUFACE_AROUND_INL_H
#else
#define CUFACE_AROUND_INL_H
#endif

#include "kernels/motion/mixture-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::motion::HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

/// The least and greatest along a row, of a word's pixels from x on.
HWY_INLINE void make_extremes(const GreyAround::Row& row, int x) {
  for (int end = x + kWordBits; x < end; x += kLanes) {
    Pixels least = hn::LoadU(Lanes(), row.grey + x - kNeighbourReach), greatest = least;
    for (int i = 1 - kNeighbourReach; i <= kNeighbourReach; ++i) {
      const Pixels grey = hn::LoadU(Lanes(), row.grey + x + i);
      least = hn::Min(least, grey);
      greatest = hn::Max(greatest, grey);
    }
    hn::Store(least, Lanes(), row.least + x);
    hn::Store(greatest, Lanes(), row.greatest + x);
  }
}

/// Which of a word's pixels are explained_around(), of those asked for. Rows close by mostly
/// explain all that any do, so these are asked first.
HWY_INLINE std::uint64_t explained_word(const ExplainedRow& row, int word, std::uint64_t asked) {
  const Pixels apart = set(kLeastApart);
  const int x = word * kWordBits;
  std::uint64_t explained = 0;
  for (int at = 0; at < kWordBits; at += kLanes) {
    const Pixels grey = hn::LoadU(Lanes(), row.picture + x + at);
    const Pixels darker = hn::SaturatedSub(grey, apart), brighter = hn::SaturatedAdd(grey, apart);
    const std::uint64_t wanted = asked >> at & kAllLanes;
    Pixels least = set(255), greatest = set(0);
    std::uint64_t found = 0;
    const auto add = [&](int k) HWY_ATTR {
      const GreyAround::Row& around = *row.grey_around[k];
      if (around.made[word] == 0) {
        around.made[word] = 1;
        make_extremes(around, x);
      }
      least = hn::Min(least, hn::Load(Lanes(), around.least + x + at));
      greatest = hn::Max(greatest, hn::Load(Lanes(), around.greatest + x + at));
    };
    if (wanted == 0) continue;
    add(kNeighbourReach);
    for (int by = 1; by <= kNeighbourReach; ++by) {
      add(kNeighbourReach - by);
      add(kNeighbourReach + by);
      const Pixels off =
          hn::Or(hn::SaturatedSub(least, brighter), hn::SaturatedSub(darker, greatest));
      found = bits_of(is_zero(off)) & wanted;
      if (found == wanted) break;
    }
    explained |= found << at;
  }
  return explained;
}

void explain_words(const ExplainedRow& row, int words) {
  const auto near = [&](int i) {
    std::uint64_t any = 0;
    for (const BlockNotes* notes : row.around) any |= notes[i].was_restless;
    return any;
  };
  for (int i = 0; i < words; ++i) {
    const std::uint64_t foreground = row.notes[i].foreground;
    row.seen[i] = foreground;
    if (foreground == 0) continue;
    const std::uint64_t here = near(i), before = i > 0 ? near(i - 1) : 0,
                        behind = i + 1 < words ? near(i + 1) : 0;
    std::uint64_t restless = row.notes[i].is_restless | here;
    for (int by = 1; by <= kRestlessReach; ++by)
      restless |= here << by | here >> by | before >> (kWordBits - by) | behind << (kWordBits - by);
    const std::uint64_t asked = foreground & restless;
    if (asked != 0) row.seen[i] &= ~explained_word(row, i, asked);
  }
}

#endif
}  // namespace cuface::motion::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
