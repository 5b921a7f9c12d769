// motion: where something moves in front of a camera: a mask of pixels, a grid of cells with the
// share of pixels that changed in each [S1.10], boxes of connected cells that keep their ids, and
// when a motion begins and ends.
//
// Three methods say which pixels changed:
// - edges: the edges of two frames differ by more than a tolerance [S1.09];
// - difference: the grey levels of two frames differ;
// - background: a mean of 2 x 2 pixels is of none of up to three modes that the background has had
//   there; its four pixels change together.
// All are integers throughout, in an order that does not matter: every version has the same bits.
//
// rules.h: cells, densities, the preset; events.h: what lasts from frame to frame: streaks, boxes,
// events; references.h: which frame is compared with; edges.h, half.h, mixture.h, light.h: the
// methods' own rules, for the CPU and CUDA; counted.h: pixels that count; maps of bits:
// kernels/common/bits.h.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/motion/events.h"
#include "kernels/motion/rules.h"

namespace cuface {

/// Follows one video of pictures of one size. Allocates when it is made; serves one thread at a
/// time.
class MotionDetector {
 public:
  /// kInvalidArgument: a side below 1 or above kMostMotionSide, more columns than pixels across or
  /// than kMostMotionCells, rows likewise, or a value out of the range that MotionConfig gives it.
  static Result<MotionDetector> create(const MotionConfig& config, int width, int height);

  MotionDetector(MotionDetector&&) noexcept;
  MotionDetector& operator=(MotionDetector&&) noexcept;
  ~MotionDetector();

  /// Pixels in which nothing is seen: those that are not 0. They count in no cell. An empty view is
  /// none of them. kInvalidArgument where the size is another.
  Status ignore(ImageView<const std::uint8_t> pixels);

  /// The next frame: its edges (not 0 = edge) for the method edges, its grey picture for the
  /// others. `time` is in nanoseconds and never less than that of the frame before. The result is
  /// valid until the next call. kInvalidArgument where the size is another.
  Result<const MotionResult*> look(ImageView<const std::uint8_t> picture, std::int64_t time);
  /// The same for the method edges, by a bit map of them (kernels/common/bits.h).
  /// kInvalidArgument with another method.
  Result<const MotionResult*> look(ImageView<const std::uint64_t> edges, std::int64_t time);

  /// Forgets what it has seen, as after a jump in time: no id comes back. An event goes on.
  void forget();
  /// The end of the video: the result has the end of an event that has not ended yet.
  const MotionResult& finish();

  /// A bit a pixel that changed on the last frame (kernels/common/bits.h), of none where it was not
  /// compared.
  ImageView<const std::uint64_t> mask() const;
  const MotionPlan& plan() const;

 private:
  class Impl;
  explicit MotionDetector(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The motion-area image [S1.11]: 255 in the cells that move.
void draw_cells(const MotionPlan& plan, const MotionResult& result, ImageView<std::uint8_t> out);

}  // namespace cuface
