// The two primitives of overlay (stroke and outline), the blend that puts them into a frame of any
// layout, and the blocks of pixelate. Integers only.
//
// A primitive becomes coverage, 0..256 a luma pixel, in a tile on the stack; a component's sample
// takes the mean coverage of the pixels it stands for. So there is one inner loop for all layouts,
// and what a frame shows does not depend on its format.
#pragma once

#include <array>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/overlay/overlay.h"

namespace cuface::raster {

/// Positions have 8 fraction bits.
inline constexpr int kOne = 256;

/// A point's meaning: a multiple of kOne is the centre of a pixel.
struct FixedPoint {
  int x = 0, y = 0;
};

/// All that is at most `radius` (in 1/256 px) away from the segment a-b; a disc where a == b.
struct Stroke {
  FixedPoint a, b;
  int radius = 0;
};

/// The frame of a box, `width` thick, inside its edges (1/256 px; a multiple of kOne is the edge
/// between two pixels). Filled when thinner than two widths.
struct Outline {
  int left = 0, top = 0, right = 0, bottom = 0, width = 0;
};

/// A colour in the samples of one frame.
struct Ink {
  std::array<int, 3> value{};
  int alpha = 0;  ///< 0..256
};

Ink make_ink(const FrameView& frame, ColorMatrix matrix, Argb color);

/// Draws the union of the strokes: where they overlap nothing is blended twice.
void fill(const FrameView& frame, std::span<const Stroke> strokes, const Ink& ink);
void fill(const FrameView& frame, const Outline& outline, const Ink& ink);

/// Every cell of the grid of `block` px squares (a multiple of 4, so that no chroma sample belongs
/// to two cells) that `area` touches becomes its mean colour.
void pixelate(const FrameView& frame, const Rect& area, int block);

}  // namespace cuface::raster
