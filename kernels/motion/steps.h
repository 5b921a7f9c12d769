// The steps of motion on the CPU, each on whole pictures: the plain references, and vector code
// that gives the same bits. All pictures of a call have one size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/common/bits.h"
#include "kernels/common/image.h"

namespace cuface::motion {

using Bytes = ImageView<const std::uint8_t>;
using Bits = ImageView<const std::uint64_t>;  ///< `width` in words

/// A picture of zeros, and what lies behind its rows up to the next multiple of 64 bytes.
template <typename T>
Image<T> zeros(int width, int height) {
  Image<T> out(width, height);
  for (int y = 0; y < height; ++y)
    std::memset(out.view().row(y), 0, static_cast<std::size_t>(out.view().stride));
  return out;
}

/// A bit map that owns its words, all 0 at first.
class BitImage {
 public:
  BitImage() = default;
  BitImage(int width, int height);
  ImageView<std::uint64_t> view() { return words_.view(); }
  Bits view() const { return words_.view(); }
  void clear();

 private:
  Image<std::uint64_t> words_;
};

/// A bit for each byte that is not 0.
void pack(Bytes bytes, ImageView<std::uint64_t> bits);

/// Sets the pixels that have a set one within `reach` of them, along either axis.
class Dilation {
 public:
  Dilation() = default;
  Dilation(int width, int height, int reach);
  void run(Bits bits, ImageView<std::uint64_t> out);

 private:
  int width_ = 0, reach_ = 0;
  BitImage across_, down_;
};

/// A frame's edges, and the pixels near them.
struct EdgeFrame {
  EdgeFrame() = default;
  EdgeFrame(int width, int height) : map(width, height), near(width, height) {}
  BitImage map, near;
};

/// The method edges (edges.h), of the maps of two frames.
class EdgeDifference {
 public:
  EdgeDifference() = default;
  EdgeDifference(int width, int height, int tolerance, bool symmetric);
  /// Makes `near` of a frame whose map is there; once, for all frames that it is compared with.
  void prepare(EdgeFrame& frame);
  void run(const EdgeFrame& former, const EdgeFrame& latter, ImageView<std::uint64_t> out);

 private:
  void run_plain(Bits then, Bits now, ImageView<std::uint64_t> out) const;

  int width_ = 0, tolerance_ = 0;
  bool symmetric_ = true;
  Dilation dilation_;
  BitImage hollow_, near_hollow_;  ///< not symmetric only
};

/// The method difference: two frames differ in a pixel that is further apart, in grey levels.
inline constexpr int kLeastDifference = 15;

/// A row: 1 where the grey levels of two are more than `least` apart, 0 elsewhere.
void differing(const std::uint8_t* then, const std::uint8_t* now, int width, int least,
               std::uint8_t* out);

/// Keeps what is not alone: a pixel is set if at least `kLeastAround` of the kAround x kAround
/// around it are 1. Those outside of the picture are 0. A row at a time, so that the pixels need no
/// picture of their own.
inline constexpr int kAround = 7, kLeastAround = 22;
class Majority {
 public:
  Majority() = default;
  explicit Majority(int width);
  /// Where row y of the pixels, 0 or 1, is to be written: up to the next multiple of 64 of them.
  std::uint8_t* row(int y);
  /// Takes row y when it is there, from 0 on, and fills all rows of `out` up to y - kAround / 2, at
  /// the end all that are left.
  void take(int y, ImageView<std::uint64_t> out);

 private:
  void keep(int y, ImageView<std::uint64_t> out);

  int width_ = 0;
  Image<std::uint8_t> rows_, sums_;
};

/// The rows of a picture within `reach` of one, as they were before that one and those above it
/// were written over: copies.
class RowsAround {
 public:
  RowsAround(int width, int reach);
  /// 2 * reach + 1 rows around row y of `height`; y goes up from 0, and copy(row, to) is called for
  /// each row before it may be written over. They may be read `reach` pixels beside their ends, and
  /// a vector behind that. What is outside of the picture is as what is nearest in it.
  template <typename Copy>
  const std::uint8_t* const* around(int y, int height, const Copy& copy) {
    if (y == 0) next_ = 0;
    for (; next_ <= std::min(y + reach_, height - 1); ++next_) {
      copy(next_, row(next_));
      widen(next_);
    }
    for (int i = -reach_; i <= reach_; ++i)
      around_[static_cast<std::size_t>(i + reach_)] = row(std::clamp(y + i, 0, height - 1));
    return around_.data();
  }

 private:
  std::uint8_t* row(int y);
  void widen(int y);

  int width_, reach_, next_ = 0;
  Image<std::uint8_t> rows_;
  std::vector<const std::uint8_t*> around_;
};

}  // namespace cuface::motion
