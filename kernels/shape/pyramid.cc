#include "kernels/pyramid/pyramid.h"

#include <algorithm>
#include <cmath>

#include "kernels/shape/steps.h"

namespace cuface::shape {
namespace {

std::vector<Between> places(int from, int to, double scale, bool is_column) {
  std::vector<Between> result;
  for (int i = 0; i < to; ++i) result.push_back(Between::of(i, from, scale, is_column));
  return result;
}

}  // namespace

void resize_linear(ImageView<const std::uint8_t> from, double factor, Image<std::uint8_t>& to) {
  const int width = resized_side(from.width, factor), height = resized_side(from.height, factor);
  if (to.width() != width || to.height() != height) to = Image<std::uint8_t>(width, height);
  const ImageView<std::uint8_t> out = to.view();
  const ResizeWay way = way_of(from, factor, width, height);
  if (way == ResizeWay::kHalf) {
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) out.at(x, y) = half_pixel(from, x, y);
    return;
  }
  if (way == ResizeWay::kCopy) {
    for (int y = 0; y < height; ++y) std::copy_n(from.row(y), width, out.row(y));
    return;
  }
  const double scale = 1 / factor;
  const std::vector<Between> columns = places(from.width, width, scale, true);
  const std::vector<Between> rows = places(from.height, height, scale, false);
  for (int y = 0; y < height; ++y) {
    const Between& row = rows[static_cast<std::size_t>(y)];
    const std::uint8_t *above = from.row(row.first), *below = from.row(row.second);
    for (int x = 0; x < width; ++x)
      out.at(x, y) = between_pixels(above, below, columns[static_cast<std::size_t>(x)], row);
  }
}

Status Pyramid::make(ImageView<const std::uint8_t> part, double factor, int levels,
                     ShapePyramid kind) {
  if (!is_searchable(part.width, part.height, factor, std::ldexp(factor, 1 - levels),
                     kMaxShapeWindow)) {
    return {StatusCode::kInvalidArgument, "shape: a face that is too small or too large"};
  }
  levels_.resize(static_cast<std::size_t>(levels));
  resize_linear(part, factor, levels_[0]);
  for (std::size_t i = 1; i < levels_.size(); ++i) {
    if (kind == ShapePyramid::kLinear) {
      resize_linear(levels_[0].view(), std::ldexp(1.0, -static_cast<int>(i)), levels_[i]);
      continue;
    }
    const Image<std::uint8_t>& finer = levels_[i - 1];
    const int width = (finer.width() + 1) / 2, height = (finer.height() + 1) / 2;
    if (levels_[i].width() != width || levels_[i].height() != height)
      levels_[i] = Image<std::uint8_t>(width, height);
    gaussian_down(finer.view(), levels_[i].view());
  }
  return {};
}

}  // namespace cuface::shape
