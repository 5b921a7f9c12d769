#include "kernels/integral/integral.h"

#include <algorithm>

namespace cuface {
namespace {

template <typename T>
void clear_row(const ImageView<T>& view, int y) {
  std::fill_n(view.row(y), view.width, T{0});
}

template <typename Squared>
void sum_and_squares(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> sum,
                     ImageView<Squared> squared) {
  clear_row(sum, 0);
  clear_row(squared, 0);
  for (int y = 0; y < src.height; ++y) {
    const std::uint8_t* in = src.row(y);
    const std::uint32_t* sum_above = sum.row(y);
    const Squared* squared_above = squared.row(y);
    std::uint32_t* sum_out = sum.row(y + 1);
    Squared* squared_out = squared.row(y + 1);
    std::uint32_t row_sum = 0;
    Squared row_squared = 0;
    sum_out[0] = 0;
    squared_out[0] = 0;
    for (int x = 0; x < src.width; ++x) {
      const std::uint32_t v = in[x];
      row_sum += v;
      row_squared += v * v;
      sum_out[x + 1] = sum_above[x + 1] + row_sum;
      squared_out[x + 1] = squared_above[x + 1] + row_squared;
    }
  }
}

}  // namespace

void integral(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> sum) {
  clear_row(sum, 0);
  for (int y = 0; y < src.height; ++y) {
    const std::uint8_t* in = src.row(y);
    const std::uint32_t* above = sum.row(y);
    std::uint32_t* out = sum.row(y + 1);
    std::uint32_t row_sum = 0;
    out[0] = 0;
    for (int x = 0; x < src.width; ++x) {
      row_sum += in[x];
      out[x + 1] = above[x + 1] + row_sum;
    }
  }
}

void integral_squared(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> sum,
                      ImageView<std::uint32_t> squared) {
  sum_and_squares(src, sum, squared);
}

void integral_squared(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> sum,
                      ImageView<std::uint64_t> squared) {
  sum_and_squares(src, sum, squared);
}

// A cone with its tip at (x,y) is the two cones one row up and to either side, less the cone two
// rows up that both hold, plus the two pixels below that one. Left of the picture the cone (-1,y-1)
// is empty but for what (0,y-2) holds too; right of it (W+1,y-1) holds what (W,y-2) holds.
void integral_tilted(ImageView<const std::uint8_t> src, ImageView<std::uint32_t> tilted) {
  const int w = src.width;
  clear_row(tilted, 0);
  if (src.height == 0) return;
  std::uint32_t* first = tilted.row(1);
  first[0] = 0;
  std::copy_n(src.row(0), w, first + 1);
  for (int y = 2; y <= src.height; ++y) {
    const std::uint8_t* in = src.row(y - 1);
    const std::uint8_t* in_above = src.row(y - 2);
    const std::uint32_t* above = tilted.row(y - 1);
    const std::uint32_t* above2 = tilted.row(y - 2);
    std::uint32_t* out = tilted.row(y);
    out[0] = above[1];
    for (int x = 1; x < w; ++x) {
      out[x] = above[x - 1] + above[x + 1] - above2[x] + in[x - 1] + in_above[x - 1];
    }
    out[w] = above[w - 1] + in[w - 1] + in_above[w - 1];
  }
}

}  // namespace cuface
