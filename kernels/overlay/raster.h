// The two primitives of overlay (stroke and outline), the blend that puts them into a frame of any
// layout, and the blocks of pixelate. Integers only.
//
// A primitive becomes coverage, 0..256 a luma pixel, in a tile on the stack; a component's sample
// takes the mean coverage of the pixels it stands for. So there is one inner loop for all layouts,
// and what a frame shows does not depend on its format.
#pragma once

#include <span>

#include "kernels/common/geometry.h"
#include "kernels/overlay/overlay.h"
#include "kernels/overlay/primitives.h"

namespace cuface::raster {

Ink make_ink(const FrameView& frame, ColorMatrix matrix, Argb color);

/// Own, dim, and four by confidence.
inline constexpr int kLandmarkInks = 6;

/// The colours of a style.
struct Inks {
  Ink box, text, rim;
  Ink landmark[kLandmarkInks];  ///< by strokes::ink_of(); the first is the landmarks' own colour
};

Inks make_inks(const FrameView& frame, ColorMatrix matrix, const OverlayStyle& style);

/// The rows and columns of `wanted` in the frame, made longer to where a chroma sample ends.
Span2 visible(const FrameView& frame, const Span2& wanted);

/// Draws the union of the strokes: where they overlap nothing is blended twice.
void fill(const FrameView& frame, std::span<const Stroke> strokes, const Ink& ink);
void fill(const FrameView& frame, const Outline& outline, const Ink& ink);

/// Every cell of the grid of `block` px squares (a multiple of 4, so that no chroma sample belongs
/// to two cells) that `area` touches becomes its mean colour.
void pixelate(const FrameView& frame, const Rect& area, int block);

}  // namespace cuface::raster
