// integral: sums over any upright or 45-degree rectangle in four reads
// [S0.09, S0.10].
//
// All three outputs are (W+1) x (H+1) and exclusive: entry (x,y) sums the pixels above and left of
// it. Row 0 and column 0 are zero. Values wrap modulo 2^32; differences over any window of the
// cascades are exact all the same. Bit-equal to OpenCV's cv::integral. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/stop_flag.h"

namespace cuface {

/// Where the columns of a row lie: in order, or the even ones first and the odd ones from `odd` on.
struct ColumnOrder {
  std::ptrdiff_t odd = 0;  ///< words; 0 = in order
  CUFACE_HD std::ptrdiff_t at(int x) const { return odd == 0 ? x : x % 2 * odd + x / 2; }
};

/// The lower halves of a row of sums: where the sums lie, and with the columns in order. Either may
/// be null; where the sums are in order both are the same, and `same` is not written.
struct ShortRow {
  std::uint16_t* same = nullptr;
  std::uint16_t* in_order = nullptr;
};

/// The row of sums, and that of squares, under a row of pixels; `sum_above` and `squared_above` are
/// the rows before. All have room for width + 1 words in that order.
void integral_squared_row(const std::uint8_t* pixels, int width, ColumnOrder order,
                          const std::uint32_t* sum_above, std::uint32_t* sum,
                          const std::uint32_t* squared_above, std::uint32_t* squared,
                          ShortRow shorts = {});
/// The row of tilted sums under a row of pixels. `above` and `above2` are those one and two rows
/// before. `pixels_above` are the pixels one row before, null for the first row of a picture.
void integral_tilted_row(const std::uint8_t* pixels, const std::uint8_t* pixels_above, int width,
                         ColumnOrder order, const std::uint32_t* above2, const std::uint32_t* above,
                         std::uint32_t* tilted);

void integral(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> sum);
/// Sum and sum of squares in one pass over the picture.
void integral_squared(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> sum,
                      ImageView<std::uint32_t> squared);
/// The same with squares that never wrap: for windows of more than 255 x 255 pixels. False, with
/// some of the rows, once `stop` is raised.
bool integral_squared(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> sum,
                      ImageView<std::uint64_t> squared, const StopFlag* stop = nullptr);
/// Tilted(x,y) = sum of I(x',y') with y' < y and |x' - x + 1| <= y - y' - 1 (Lienhart). False, with
/// some of the rows, once `stop` is raised.
bool integral_tilted(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> tilted,
                     const StopFlag* stop = nullptr);

}  // namespace cuface
