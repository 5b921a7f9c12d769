// Linking, 64 pixels at a time.
#include <algorithm>

#include "kernels/edges/cpu/rows.h"

namespace cuface::edges {
namespace {

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

/// A sweep down and one up; what goes on along a row is followed in one go. That is all for most
/// pictures. An edge that winds would need a sweep a bend, so the rest is followed word by word.
void Linker::grow(BitMap& ridges, BitMap& edges) {
  std::fill(pending_.begin(), pending_.end(), std::uint8_t{1});
  std::uint8_t* pending = pending_.data() + 1;
  const int words = edges.words();
  const auto sweep_row = [&](int y) {
    if (!pending[y]) return;
    pending[y] = 0;
    const std::uint64_t *ridge = ridges.row(y), *above = edges.row(y - 1),
                        *below = edges.row(y + 1);
    std::uint64_t* here = edges.row(y);
    bool changed = false;
    for (int i = 0; i < words; ++i) changed |= grow_word(ridge[i], above + i, here + i, below + i);
    if (!changed) return;
    for (int i = words - 2; i >= 0; --i) grow_word(ridge[i], above + i, here + i, below + i);
    pending[y - 1] = pending[y + 1] = 1;
  };
  for (int y = 0; y < height_; ++y) sweep_row(y);
  for (int y = height_ - 1; y >= 0; --y) sweep_row(y);
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
