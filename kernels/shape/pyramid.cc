#include "kernels/pyramid/pyramid.h"

#include <algorithm>
#include <cmath>

#include "kernels/shape/steps.h"

namespace cuface::shape {
namespace {

constexpr int kWeightBits = 11;
constexpr float kWeightOne = 1 << kWeightBits;

/// A pixel between two of the source, and how much of each it has.
struct Between {
  int first = 0, second = 0, weight_first = 0, weight_second = 0;
};

std::vector<Between> places(int from, int to, double scale, bool is_column) {
  std::vector<Between> result;
  for (int i = 0; i < to; ++i) {
    float fraction = static_cast<float>((i + 0.5) * scale - 0.5);
    int place = static_cast<int>(std::floor(fraction));
    fraction -= static_cast<float>(place);
    // Of columns beyond the outermost centres the outermost has all the weight; of rows both are
    // the outermost, so that the weights do not matter but for their rounding.
    if (is_column && place < 0) place = 0, fraction = 0;
    if (is_column && place >= from - 1) place = from - 1, fraction = 0;
    result.push_back({std::clamp(place, 0, from - 1), std::clamp(place + 1, 0, from - 1),
                      static_cast<int>(std::lrint((1.0f - fraction) * kWeightOne)),
                      static_cast<int>(std::lrint(fraction * kWeightOne))});
  }
  return result;
}

void halve(ImageView<const std::uint8_t> from, ImageView<std::uint8_t> to) {
  for (int y = 0; y < to.height; ++y) {
    const int rows = std::min(2, from.height - 2 * y);
    for (int x = 0; x < to.width; ++x) {
      const int columns = std::min(2, from.width - 2 * x);
      int sum = 0;
      for (int v = 0; v < rows; ++v)
        for (int u = 0; u < columns; ++u) sum += from.at(2 * x + u, 2 * y + v);
      const int count = rows * columns;
      to.at(x, y) = static_cast<std::uint8_t>(
          count == 4 ? (sum + 2) >> 2
                     : std::lrint(static_cast<float>(sum) / static_cast<float>(count)));
    }
  }
}

}  // namespace

void resize_linear(ImageView<const std::uint8_t> from, double factor, Image<std::uint8_t>& to) {
  const int width = static_cast<int>(std::lrint(from.width * factor));
  const int height = static_cast<int>(std::lrint(from.height * factor));
  if (to.width() != width || to.height() != height) to = Image<std::uint8_t>(width, height);
  if (factor == 0.5) return halve(from, to.view());
  if (width == from.width && height == from.height) {
    for (int y = 0; y < height; ++y) std::copy_n(from.row(y), width, to.view().row(y));
    return;
  }
  const double scale = 1 / factor;
  const std::vector<Between> columns = places(from.width, width, scale, true);
  const std::vector<Between> rows = places(from.height, height, scale, false);
  for (int y = 0; y < height; ++y) {
    const Between& row = rows[static_cast<std::size_t>(y)];
    const std::uint8_t *above = from.row(row.first), *below = from.row(row.second);
    std::uint8_t* const out = to.view().row(y);
    for (int x = 0; x < width; ++x) {
      const Between& c = columns[static_cast<std::size_t>(x)];
      const int a = above[c.first] * c.weight_first + above[c.second] * c.weight_second;
      const int b = below[c.first] * c.weight_first + below[c.second] * c.weight_second;
      // Cut to 16 bits and back in three places, as OpenCV's vectors of 16 bits do.
      out[x] = static_cast<std::uint8_t>(
          (((row.weight_first * (a >> 4)) >> 16) + ((row.weight_second * (b >> 4)) >> 16) + 2) >>
          2);
    }
  }
}

Status Pyramid::make(ImageView<const std::uint8_t> part, double factor, int levels,
                     ShapePyramid kind) {
  const int shorter = std::min(part.width, part.height), longer = std::max(part.width, part.height);
  const double coarsest = std::ldexp(factor, 1 - levels);
  if (shorter < 1 || !(longer * factor <= kMaxShapeWindow) || !(shorter * coarsest >= 1)) {
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
