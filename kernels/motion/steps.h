// The steps of motion on the CPU, each on whole pictures: the plain references, and vector code
// that gives the same bits. All pictures of a call have one size.
#pragma once

#include <cstdint>

#include "kernels/common/bits.h"
#include "kernels/common/image.h"

namespace cuface::motion {

using Bytes = ImageView<const std::uint8_t>;
using Bits = ImageView<const std::uint64_t>;  ///< `width` in words

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

/// 1 where the grey levels of two pictures are more than `least` apart, 0 elsewhere.
void differing(Bytes then, Bytes now, int least, ImageView<std::uint8_t> out);

/// Keeps what is not alone: a pixel is set if at least `kLeastAround` of the kAround x kAround
/// around it are 1. Those outside of the picture are 0.
inline constexpr int kAround = 7, kLeastAround = 22;
class Majority {
 public:
  Majority() = default;
  explicit Majority(int width);
  /// `in` has 0 and 1.
  void run(Bytes in, ImageView<std::uint64_t> out);

 private:
  Image<std::uint8_t> sums_;
};

/// The least or the greatest byte within `reach` of each pixel along either axis, of those that are
/// there. A row at a time: not every row is asked for.
class WindowFilter {
 public:
  WindowFilter() = default;
  WindowFilter(int width, int reach);
  void least(Bytes in, int y, ImageView<std::uint8_t> out) { run_row(in, y, false, out); }
  void greatest(Bytes in, int y, ImageView<std::uint8_t> out) { run_row(in, y, true, out); }

 private:
  void run_row(Bytes in, int y, bool greatest, ImageView<std::uint8_t> out);

  int reach_ = 0;
  Image<std::uint8_t> row_;
};

}  // namespace cuface::motion
