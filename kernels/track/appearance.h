// Compares a face's looks on two successive frames: a small picture of the face, and the
// correlation of two such pictures, which linear changes of the grey values do not affect. Integer
// sums, and no libm beyond sqrt, so that the CPU and CUDA get the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"

namespace cuface::track {

/// An appearance is 8 x 8 cells, row by row, each the sum of 8 x 8 pixels that are spread evenly
/// over it: as many for every box, so that its size costs nothing.
inline constexpr int kAppearanceSide = 8, kAppearanceCells = kAppearanceSide * kAppearanceSide,
                     kAppearancePixels = 8;

/// The pixel behind a box's edge at `from`, `size` long, in which its sample i of kSamples lies;
/// outside of the picture the nearest pixel counts.
template <int kSamples>
CUFACE_HD inline int sample_of(float from, float size, int i, int pixels) {
  constexpr float kStep = 1.0f / kSamples;
  const float at = from + size * ((static_cast<float>(i) + 0.5f) * kStep);
  return static_cast<int>(std::min(std::max(at, 0.0f), static_cast<float>(pixels - 1)));
}

/// A cell of the appearance of a finite box of a picture that is not empty.
CUFACE_HD inline std::int32_t appearance_cell(ImageView<const std::uint8_t> picture, const Box& box,
                                              int cell) {
  constexpr int kSamples = kAppearanceSide * kAppearancePixels;
  const int left = cell % kAppearanceSide * kAppearancePixels,
            top = cell / kAppearanceSide * kAppearancePixels;
  std::int32_t sum = 0;
  for (int j = top; j < top + kAppearancePixels; ++j) {
    const std::uint8_t* row = picture.row(sample_of<kSamples>(box.y, box.h, j, picture.height));
    for (int i = left; i < left + kAppearancePixels; ++i) {
      sum += row[sample_of<kSamples>(box.x, box.w, i, picture.width)];
    }
  }
  return sum;
}

/// The correlation of two appearances, -1..1. One without any structure, as in a flash, says
/// nothing: 1.
CUFACE_HD inline float appearance_correlation(const std::int32_t* a, const std::int32_t* b) {
  std::int64_t sum_a = 0, sum_b = 0, aa = 0, bb = 0, ab = 0;
  for (int i = 0; i < kAppearanceCells; ++i) {
    const std::int64_t x = a[i], y = b[i];
    sum_a += x;
    sum_b += y;
    aa += x * x;
    bb += y * y;
    ab += x * y;
  }
  const auto both = static_cast<double>(kAppearanceCells * ab - sum_a * sum_b);
  const auto first = static_cast<double>(kAppearanceCells * aa - sum_a * sum_a);
  const auto second = static_cast<double>(kAppearanceCells * bb - sum_b * sum_b);
  if (!(first > 0 && second > 0)) return 1;
  return static_cast<float>(both / (std::sqrt(first) * std::sqrt(second)));
}

}  // namespace cuface::track
