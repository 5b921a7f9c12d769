// A picture's edges on the CPU by vectors, row by row: what a row needs lies in rings of a few
// rows, so that the picture is read once and only the bits of its pixels leave the cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/common/bits.h"
#include "kernels/common/image.h"
#include "kernels/common/stop_flag.h"
#include "kernels/edges/rules.h"

namespace cuface::edges {

/// What a vector may read or write beside a row, in elements: the taps, and a whole vector.
inline constexpr int kMargin = 64;

/// `count` rows of `width` elements with margins, 0 at first. Row y is where row y + count was.
template <typename T>
class Ring {
 public:
  Ring() = default;
  Ring(int width, int count) : values_(width + 2 * kMargin, count) {
    static_assert(kMargin * sizeof(T) % Image<T>::kAlignment == 0, "vectors are aligned");
    for (int y = 0; y < count; ++y) std::fill_n(values_.view().row(y), values_.width(), T{});
  }
  T* row(int y) { return values_.view().row(y % values_.height()) + kMargin; }

 private:
  Image<T> values_;
};

/// A bit map with a rim of zeros on all sides: a row, a word, and to the right a vector.
class BitMap {
 public:
  static constexpr int kRim = 8;  ///< words behind a row

  BitMap(int width, int height) : words_(words_of(width)), bits_(words_ + 1 + kRim, height + 2) {
    for (int y = -1; y <= height; ++y) std::fill_n(row(y) - 1, bits_.width(), std::uint64_t{0});
  }
  int words() const { return words_; }  ///< of a row
  std::uint64_t* row(int y) { return bits_.view().row(y + 1) + 1; }
  ImageView<const std::uint64_t> view() {
    return {row(0), words_, bits_.height() - 2, bits_.view().stride};
  }

 private:
  int words_;
  Image<std::uint64_t> bits_;
};

/// All that a picture's rows need; made once a size.
struct Rows {
  Rows(int width, int height, const EdgeRules& rules, const std::vector<int>& blur);

  int width, height;
  EdgeRules rules;
  std::vector<int> blur;
  bool wide;                     ///< magnitudes have 32 bits: of L2, and where sectors are compared
  Ring<std::int16_t> widened;    ///< a row of the picture
  Ring<std::int16_t> blur_sums;  ///< of the blur's first direction
  Ring<std::int16_t> blurred, smooth, slope, dx, dy;
  Ring<std::int16_t> magnitude;       // not wide
  Ring<std::int32_t> wide_magnitude;  // wide
  BitMap ridges;  ///< for Linking::kApron: all pixels above rules.low, ridge or not
  BitMap edges;
};

struct GradientViews {
  ImageView<std::uint8_t> magnitude, angle;
};

/// Fills rows.ridges and rows.edges, and the pictures that are wanted on the way. False, with part
/// of the result, once `stop` is raised.
bool classify(Rows& rows, ImageView<const std::uint8_t> grey, const GradientViews& wanted,
              const StopFlag* stop);

/// What Linking does, over the bits of a whole picture: link.cc.
class Linker {
 public:
  Linker(int width, int height, const EdgeRules& rules);
  /// Adds to `edges` what belongs to them.
  void run(BitMap& ridges, BitMap& edges);

 private:
  void grow(BitMap& ridges, BitMap& edges);
  void follow(BitMap& ridges, BitMap& edges);
  void widen(BitMap& ridges, BitMap& edges);

  int height_;
  EdgeRules rules_;
  std::vector<std::uint8_t>
      pending_;  ///< of each row from -1 on: it or its neighbours have changed
  // Of each word: whether its neighbours are still to be looked at, and a stack of those words.
  std::vector<std::uint8_t> waits_;
  std::vector<std::int32_t> changed_;
  BitMap wide_;  ///< the edges, widened along the rows
};

}  // namespace cuface::edges
