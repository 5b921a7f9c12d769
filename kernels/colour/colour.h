// colour: any camera frame -> 8-bit B, G and R at the size that a network reads. The sibling of
// luma: one pass over the frame, and no stage behind it sees the frame's format.
//
// Source: the conversion is that of ITU-R BT.601, BT.709, BT.2020, FCC and SMPTE 240M in integers
// of this stage's own; the resizing is OpenCV's INTER_LINEAR_EXACT. Both are the numeric contract's
// (docs/design/numeric-contract.md).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/common/bgr.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "kernels/common/workers.h"
#include "kernels/luma/color_matrix.h"
#include "kernels/luma/luma.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface {

namespace bgr {
class RowMaker;
}

/// In pixels.
struct BgrSize {
  int width, height;
  friend bool operator==(const BgrSize&, const BgrSize&) = default;
};

/// The size of a frame's BGR picture. Its longer side is `input_size`, and the other one
/// rint(side * input_size / longer side), at least 1. No frame is enlarged; with `input_size` 0
/// each keeps its own size. Needs sides from 1 and `input_size` from 0 on.
BgrSize bgr_size(int width, int height, int input_size);

/// Refuses what a BgrScaler could not read: what validate() refuses of the frame or of a component,
/// and components that differ in depth. A frame without U and V is grey.
Status validate_colour(const FrameView& frame);

/// Makes the BGR pictures of frames of one size. A pixel of the frame becomes 8-bit B, G and R
/// first: samples are cut to 8 bits, chroma is that of index (x >> sub_x, y >> sub_y), and
///   R = (cy (Y - black)                 + crv (V - 128) + 2^14) >> 15
///   G = (cy (Y - black) - cgu (U - 128) - cgv (V - 128) + 2^14) >> 15
///   B = (cy (Y - black) + cbu (U - 128)                 + 2^14) >> 15
/// clamped to 0..255, with coefficients rounded to 2^-15 (bgr.h). Grey has U = V = 128, RGB stays.
/// The four pixels around a place are weighed as LinearResize does. A frame of the picture's own
/// size is not resized, so RGB of 8 bits is copied.
///
/// One object is for one thread at a time; its workers are its own matter. Movable, not copyable.
class BgrScaler {
 public:
  /// For frames of `width` x `height`, and at most `threads` threads. Allocates; run() does not.
  /// kInvalidArgument: a side or `threads` below 1, or `input_size` below 0. kOutOfMemory.
  static Result<BgrScaler> create(int width, int height, int input_size, int threads = 1);

  BgrScaler(BgrScaler&&) noexcept;
  BgrScaler& operator=(BgrScaler&&) noexcept;
  ~BgrScaler();

  const BgrSize& size() const { return size_; }

  /// Writes all pixels of `out`, which has size(). `frame` is not written to; `matrix` counts where
  /// it is YUV. kInvalidArgument: validate_colour() refuses the frame, or a size is not the planned
  /// one. kCancelled, with some of the rows, once `stop` is raised.
  Status run(const FrameView& frame, ColorMatrix matrix, ImageView<Bgr> out,
             const StopFlag* stop = nullptr);

 private:
  BgrScaler(int width, int height, const BgrSize& size, int threads);

  int width_, height_;  // of the frame
  BgrSize size_;
  LinearResize resize_;
  std::unique_ptr<Workers> workers_;
  std::vector<bgr::RowMaker> makers_;  // of each worker
};

}  // namespace cuface
