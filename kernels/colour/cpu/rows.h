// Rows of the picture by vector code, one plane after the other.
#pragma once

#include <cstdint>

#include "kernels/colour/bgr.h"
#include "kernels/common/bgr.h"
#include "kernels/common/image.h"
#include "kernels/luma/luma.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface::bgr {

/// A row of three planes: of B, G and R, or of the frame's components.
struct Planes {
  std::uint8_t* row[3];
};

/// Makes rows of pictures, for one thread. Two rows of the frame are kept, because a picture's row
/// often needs one that the row above it needed. Movable.
class RowMaker {
 public:
  /// Of frames `width` wide and pictures `out_width` wide. Allocates.
  RowMaker(int width, int out_width);

  /// What is kept is of another frame.
  void forget() { held_[0] = held_[1] = -1; }
  /// Row y of `out`, pixel by pixel that of pixel_of(). `resize` leads from the frame's size to
  /// that of `out`.
  void make(const FrameView& frame, const Weights& weights, const LinearResize& resize, int y,
            ImageView<Bgr> out);

 private:
  static constexpr int kSamples = 2, kResized = 3;  // planes() 0 and 1 are of even and odd rows

  Planes planes(int number);
  Planes row(const FrameView& frame, const Weights& weights, int y);

  Image<std::uint8_t> bytes_;
  int held_[2] = {-1, -1};
};

}  // namespace cuface::bgr
