#include "kernels/pyramid/pyramid.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/common/border.h"
#include "kernels/common/simd.h"
#include "kernels/pyramid/octave.h"

namespace cuface {
namespace {

using octave::kChunk;

/// [1 4 6 4 1] down the columns. 255 * 16 fits 12 bits.
void column_sums(const std::uint8_t* const rows[5], int first, int count, std::uint16_t* sums) {
  const std::uint8_t *r0 = rows[0] + first, *r1 = rows[1] + first, *r2 = rows[2] + first,
                     *r3 = rows[3] + first, *r4 = rows[4] + first;
  for (int x = 0; x < count; ++x) {
    sums[x] = static_cast<std::uint16_t>(r0[x] + r4[x] + 4 * (r1[x] + r3[x]) + 6 * r2[x]);
  }
}

/// [1 4 6 4 1] along the row at every second column, rounded: 255 * 256 + 128 still fits 16 bits.
/// sums[0] is the column two to the left of the first centre.
void row_sums(const std::uint16_t* sums, int count, std::uint8_t* out) {
  for (int x = 0; x < count; ++x) {
    const std::uint16_t* s = sums + 2 * x;
    const auto sum = static_cast<std::uint16_t>(s[0] + s[4] + 4 * (s[1] + s[3]) + 6 * s[2] + 128);
    out[x] = static_cast<std::uint8_t>(sum >> 8);
  }
}

}  // namespace

void gaussian_down(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst) {
  if (simd::vectors()) return octave::make_vector(src, dst);
  std::uint16_t sums[2 * kChunk + 4];
  for (int y = 0; y < dst.height; ++y) {
    const std::uint8_t* rows[5];
    for (int k = 0; k < 5; ++k) rows[k] = src.row(reflect_101(2 * y + k - 2, src.height));
    for (int begin = 0; begin < dst.width; begin += kChunk) {
      const int count = std::min(kChunk, dst.width - begin);
      const int first = 2 * begin - 2;  // source column of sums[0]
      const int last = 2 * (begin + count - 1) + 2;
      const int inside_first = std::max(first, 0);
      const int inside_last = std::min(last, src.width - 1);
      column_sums(rows, inside_first, inside_last - inside_first + 1, sums + inside_first - first);
      for (int x = first; x < 0; ++x) {
        column_sums(rows, reflect_101(x, src.width), 1, sums + x - first);
      }
      for (int x = src.width; x <= last; ++x) {
        column_sums(rows, reflect_101(x, src.width), 1, sums + x - first);
      }
      row_sums(sums, count, dst.row(y) + begin);
    }
  }
}

GaussianPyramid::GaussianPyramid(int width, int height, int levels, int min_side) {
  base_ = {nullptr, width, height, 0};
  levels_.emplace_back();
  for (int i = 1; i < levels; ++i) {
    width = (width + 1) / 2;
    height = (height + 1) / 2;
    if (width <= min_side || height <= min_side) break;
    levels_.emplace_back(width, height);
  }
}

void GaussianPyramid::build(ImageView<const std::uint8_t> picture,
                            std::shared_ptr<const void> owner) {
  if (owner) {
    base_ = picture;
  } else {
    Image<std::uint8_t>& copy = levels_[0];
    if (copy.width() == 0) copy = Image<std::uint8_t>(base_.width, base_.height);
    for (int y = 0; y < base_.height; ++y) {
      std::memcpy(copy.view().row(y), picture.row(y), static_cast<std::size_t>(base_.width));
    }
    base_ = copy.view();
  }
  owner_ = std::move(owner);
  for (int i = 1; i < levels(); ++i) {
    gaussian_down(level(i - 1), levels_[static_cast<std::size_t>(i)].view());
  }
}

ImageView<const std::uint8_t> GaussianPyramid::level(int i) const {
  return i == 0 ? base_ : levels_[static_cast<std::size_t>(i)].view();
}

}  // namespace cuface
