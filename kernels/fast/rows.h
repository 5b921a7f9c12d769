// A row of FAST by vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/fast/fast.h"

namespace cuface::fast {

/// What a vector may read or write beside the pixels of a row of scores.
inline constexpr int kRowMargin = 64;

/// scores[x] := score_of(grey, x, y, threshold) of pixels `first` to `end`, `end` without. Needs
/// simd::vectors().
void score_row(ImageView<const std::uint8_t> grey, int y, int threshold, int first, int end,
               std::uint8_t* scores);

/// As pick_plain(). Needs simd::vectors().
void pick_row(const std::uint8_t* above, const std::uint8_t* here, const std::uint8_t* below, int y,
              int first, int end, std::vector<Corner>& corners);

}  // namespace cuface::fast
