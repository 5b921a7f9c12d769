#include "kernels/motion/staying.h"

#include <algorithm>

namespace cuface::motion {
namespace {

/// Bits and those up to `by` from them, to the side that shift(bits, n) moves them to.
template <typename Shift>
std::uint64_t spread(std::uint64_t bits, int by, Shift shift) {
  for (int reach = 0; reach < by;) {
    const int step = std::min(reach + 1, by - reach);
    bits |= shift(bits, step);
    reach += step;
  }
  return bits;
}
std::uint64_t spread_up(std::uint64_t bits, int by) {
  return spread(bits, by, [](std::uint64_t word, int n) { return word << n; });
}
std::uint64_t spread_down(std::uint64_t bits, int by) {
  return spread(bits, by, [](std::uint64_t word, int n) { return word >> n; });
}

/// Adds a word of a row, and what is up to `by` pixels beside its bits, 0 < by < 64.
void add_spread(std::uint64_t word, int by, std::uint64_t* out) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  if (word == kAll) {
    out[-1] |= kAll << (kWordBits - by);
    out[0] = kAll;
    out[1] |= kAll >> (kWordBits - by);
    return;
  }
  out[-1] |= spread_up(word << (kWordBits - by), by - 1);
  out[0] |= spread_up(word, by) | spread_down(word, by);
  out[1] |= spread_down(word >> (kWordBits - by), by - 1);
}

}  // namespace

Staying::Staying(int width, int height, int reach)
    : width_(width),
      reach_(reach),
      across_(width, height),
      from_(static_cast<std::size_t>(words_of(width)) + 2),
      to_(from_.size()) {}

void Staying::spread(const std::uint64_t* in, std::uint64_t* out) {
  const int words = words_of(width_);
  std::copy_n(in, words, from_.data() + 1);
  for (int left = reach_; left > 0;) {
    const int by = std::min(left, kWordBits - 1);
    std::fill(to_.begin(), to_.end(), std::uint64_t{0});
    for (int i = 1; i <= words; ++i)
      if (const std::uint64_t word = from_[static_cast<std::size_t>(i)]; word != 0)
        add_spread(word, by, to_.data() + i);
    // Nothing passes through pixels that are outside of the picture.
    to_[static_cast<std::size_t>(words)] &= bits_between(words - 1, 0, width_);
    from_.swap(to_);
    left -= by;
  }
  std::copy_n(from_.data() + 1, words, out);
}

void Staying::prepare(Bits before) {
  for (int y = 0; y < before.height; ++y) {
    if (is_empty(before.row(y), before.width))
      std::fill_n(across_.view().row(y), before.width, std::uint64_t{0});
    else
      spread(before.row(y), across_.view().row(y));
  }
}

void Staying::keep(Bits moved, ImageView<std::uint64_t> out) const {
  const Bits across = across_.view();
  for (int y = 0; y < moved.height; ++y) {
    for (int i = 0; i < moved.width; ++i) {
      const std::uint64_t word = moved.row(y)[i];
      std::uint64_t near = word != 0 ? across.row(y)[i] : 0;
      for (int by = 1; by <= reach_ && (word & ~near) != 0; ++by) {
        if (y >= by) near |= across.row(y - by)[i];
        if (y + by < moved.height) near |= across.row(y + by)[i];
      }
      out.row(y)[i] = word & near;
    }
  }
}

}  // namespace cuface::motion
