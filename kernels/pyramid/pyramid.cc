#include "kernels/pyramid/pyramid.h"

#include <cstring>

#include "kernels/common/simd.h"
#include "kernels/pyramid/octave.h"

namespace cuface {

void gaussian_down(ImageView<const std::uint8_t> src, ImageView<std::uint8_t> dst) {
  if (simd::vectors()) return octave::make_vector(src, dst);
  octave::make(src, dst, octave::column_sums, octave::row_sums);
}

GaussianPyramid::GaussianPyramid(int width, int height, int levels, int min_side) {
  levels_.emplace_back(width, height);
  for (int i = 1; i < levels; ++i) {
    width = (width + 1) / 2;
    height = (height + 1) / 2;
    if (width <= min_side || height <= min_side) break;
    levels_.emplace_back(width, height);
  }
}

void GaussianPyramid::build(ImageView<const std::uint8_t> picture) {
  const ImageView<std::uint8_t> base = levels_[0].view();
  for (int y = 0; y < base.height; ++y) {
    std::memcpy(base.row(y), picture.row(y), static_cast<std::size_t>(base.width));
  }
  for (std::size_t i = 1; i < levels_.size(); ++i) {
    gaussian_down(levels_[i - 1].view(), levels_[i].view());
  }
}

ImageView<const std::uint8_t> GaussianPyramid::level(int i) const {
  return levels_[static_cast<std::size_t>(i)].view();
}

}  // namespace cuface
