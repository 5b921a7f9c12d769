// The way back from luma: a grey picture in place of a frame's own.
#pragma once

#include <cstdint>

#include "kernels/common/image.h"
#include "kernels/luma/luma.h"

namespace cuface {

/// Writes `picture`, which has the frame's size, into the frame: in place of the luma with neutral
/// chroma, or as R = G = B. Alpha stays. luma() of it is `picture` again, but for rounding where
/// the range is limited; 0 and 255 always come back. Needs a frame that validate() accepts.
void write_grey(ImageView<const std::uint8_t> picture, const FrameView& frame);

/// Writes a bit map (kernels/common/bits.h) as write_grey() writes a picture: 255 where the bit is
/// set, 0 elsewhere. `bits` has words_of(frame.width) words a row, and frame.height rows. Needs a
/// frame that validate() accepts.
void write_bits(ImageView<const std::uint64_t> bits, const FrameView& frame);

/// Makes the frame black where `mask`, which has its size, is 0. Elsewhere it stays; chroma stays
/// where it is of such a pixel. Alpha stays. Needs a frame that validate() accepts.
void write_black(ImageView<const std::uint8_t> mask, const FrameView& frame);

}  // namespace cuface
