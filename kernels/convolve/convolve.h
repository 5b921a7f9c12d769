// convolve: a picture and small filters. The Gaussian blur of OpenCV's 8-bit pictures [S1.03], and
// convolution of integers with any filter, in two passes [S1.01] or directly [S1.02].
//
// convolve.cc is the plain version of all of it.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/image.h"
#include "kernels/common/status.h"

namespace cuface {

/// Sizes of the blur: odd, from 1 (none) on.
inline constexpr int kMostBlur = 31;
/// Fraction bits of its weights.
inline constexpr int kBlurBits = 8;

/// The weights of the Gaussian of `size` pixels in 1/256, as cv::GaussianBlur has them for 8-bit
/// pictures; their sum is 256. `sigma` 0 = OpenCV's, from the size. kInvalidArgument: an even size,
/// one out of range, a sigma that is negative or not finite.
Result<std::vector<int>> gaussian_weights(int size, double sigma);

/// `dst` := `src` blurred with the same weights along rows and columns: exact sums along the rows,
/// rounded half up after the columns, cv::GaussianBlur's bits. Outside the picture
/// BORDER_REFLECT_101 holds. `dst` has the size of `src` and is another picture.
void gaussian_blur(ImageView<const std::uint8_t> src, const std::vector<int>& weights,
                   ImageView<std::uint8_t> dst);

/// A filter of integers, row by row.
struct Filter {
  int width = 1, height = 1;
  std::vector<std::int32_t> values = {1};
};

/// The filter that has across[x] * down[y] at (x, y).
Filter outer_product(const std::vector<std::int32_t>& across,
                     const std::vector<std::int32_t>& down);

/// The full convolution: every place in which filter and picture share a pixel, so `dst` is
/// src + filter - 1 along each side. dst(x, y) = sum of src(x - i, y - j) * filter(i, j), 0
/// outside. kInvalidArgument: an empty filter, a `dst` of another size, or values with which a sum
/// could leave 32 bits, `greatest` being the largest magnitude in `src`.
Status convolve_direct(ImageView<const std::int32_t> src, const Filter& filter,
                       std::int64_t greatest, ImageView<std::int32_t> dst);

/// The same by outer_product(across, down), along the rows and then down the columns. Allocates
/// what lies between the passes.
Status convolve_separable(ImageView<const std::int32_t> src,
                          const std::vector<std::int32_t>& across,
                          const std::vector<std::int32_t>& down, std::int64_t greatest,
                          ImageView<std::int32_t> dst);

}  // namespace cuface
