// FAST, plainly: a pixel, and the corners of a row.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/fast/fast.h"

namespace cuface::fast {

/// The pixel's score, at least `threshold`; 0 = it is no corner. It has kRadius pixels on all
/// sides.
int score_of(ImageView<const std::uint8_t> grey, int x, int y, int threshold);

/// Appends the corners among pixels `first` to `end` of row y, `end` without; the rows of scores
/// are those above, of and below it.
void pick_plain(const std::uint8_t* above, const std::uint8_t* here, const std::uint8_t* below,
                int y, int first, int end, std::vector<Corner>& corners);

}  // namespace cuface::fast
