// The steps of motion on the CPU, each on whole pictures: the plain references, and vector code
// that gives the same bits. All pictures of a call have one size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/common/bits.h"
#include "kernels/common/image.h"

namespace cuface::motion {

using Bytes = ImageView<const std::uint8_t>;
using Bits = ImageView<const std::uint64_t>;  ///< `width` in words

/// Makes zeros of a picture, and of what lies behind its rows up to the next multiple of 64 bytes.
template <typename T>
void clear(Image<T>& picture) {
  for (int y = 0; y < picture.height(); ++y)
    std::memset(picture.view().row(y), 0, static_cast<std::size_t>(picture.view().stride));
}
template <typename T>
Image<T> zeros(int width, int height) {
  Image<T> out(width, height);
  clear(out);
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

inline bool is_empty(const std::uint64_t* row, int words) {
  std::uint64_t any = 0;
  for (int i = 0; i < words; ++i) any |= row[i];
  return any == 0;
}

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

/// A row: a bit where the grey levels of two are more than `least` apart.
void differing(const std::uint8_t* then, const std::uint8_t* now, int width, int least,
               std::uint64_t* out);

/// Keeps what is not alone: a pixel is set if at least `least` of the `side` x `side` around it
/// are. Those outside of the picture are not.
struct MajorityRule {
  int side = 7, least = 22;
};
inline constexpr MajorityRule kDifferenceMajority;
inline constexpr MajorityRule kBackgroundMajority = {5, 11};
/// Sums down the rows of a rule: of each column, and of a word's columns. Both are 0 before and
/// behind the row.
struct ColumnSums {
  std::uint8_t* columns;
  std::int32_t* counts;
};
class Majority {
 public:
  Majority() = default;
  Majority(int width, MajorityRule rule);
  /// Takes row y of the pixels when it is there, from 0 on, and fills all rows of `out` up to
  /// y - side / 2, at the end all that are left.
  void take(int y, Bits pixels, ImageView<std::uint64_t> out);

 private:
  void keep(int y, Bits pixels, ImageView<std::uint64_t> out);

  ColumnSums sums() { return {columns_.view().row(0) + kWordBits, counts_.data() + 1}; }

  int width_ = 0;
  MajorityRule rule_;
  Image<std::uint8_t> columns_;
  std::vector<std::int32_t> counts_;
  std::vector<std::uint64_t> none_;  ///< a row outside of the picture
};

}  // namespace cuface::motion
