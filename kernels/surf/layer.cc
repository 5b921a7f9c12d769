#include "kernels/surf/layer.h"

#include <string>

#include "kernels/surf/surf.h"

namespace cuface::surf {
namespace {

/// Of the first octave's first layer, and from layer to layer.
constexpr int kUnits = 9, kSize = 9, kSizeStep = 6;

constexpr WaveletPart kXX[] = {{0, 2, 3, 7, 1}, {3, 2, 6, 7, -2}, {6, 2, 9, 7, 1}};
constexpr WaveletPart kYY[] = {{2, 0, 7, 3, 1}, {2, 3, 7, 6, -2}, {2, 6, 7, 9, 1}};
constexpr WaveletPart kXY[] = {
    {1, 1, 4, 4, 1}, {5, 1, 8, 4, -1}, {1, 5, 4, 8, -1}, {5, 5, 8, 8, 1}};

template <std::size_t N>
void scale(const WaveletPart (&parts)[N], int size, WaveletBox (&out)[N]) {
  for (std::size_t i = 0; i < N; ++i) out[i] = scaled(parts[i], kUnits, size);
}

}  // namespace

Status validate_size(int width, int height) {
  if (width >= 1 && height >= 1 && std::int64_t{width} * height <= kMostSurfPixels) return {};
  return {StatusCode::kInvalidArgument,
          "SURF takes pictures of 1 to " + std::to_string(kMostSurfPixels) + " pixels"};
}

LayerPlan::LayerPlan(int octave, int index, int width, int height)
    : LayerScale{(kSize + kSizeStep * index) << octave, 1 << octave, 0},
      columns(width / step),
      rows(height / step) {
  margin = size / 2 / step;
  if (size <= width && size <= height) {
    across = 1 + (width - size) / step;
    down = 1 + (height - size) / step;
  }
  scale(kXX, size, xx);
  scale(kYY, size, yy);
  scale(kXY, size, xy);
}

}  // namespace cuface::surf
