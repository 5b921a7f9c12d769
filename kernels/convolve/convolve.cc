#include "kernels/convolve/convolve.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <string>

#include "kernels/common/border.h"
#include "kernels/common/try.h"

namespace cuface {
namespace {

/// OpenCV's weights where it makes none from a sigma: binomial, in 1/256.
std::vector<int> small_weights(int size) {
  switch (size) {
    case 1:
      return {256};
    case 3:
      return {64, 128, 64};
    case 5:
      return {16, 64, 96, 64, 16};
    default:
      return {8, 28, 56, 72, 56, 28, 8};
  }
}

std::int64_t sum_of_magnitudes(const std::vector<std::int32_t>& values) {
  std::int64_t sum = 0;
  for (const std::int32_t v : values) sum += std::abs(std::int64_t{v});
  return sum;
}

/// Whether no sum of `gain` times the greatest value leaves 32 bits.
Status check_range(std::int64_t greatest, std::int64_t gain) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (greatest < 0 || (greatest > 0 && gain > kMost / greatest)) {
    return {StatusCode::kInvalidArgument, "sums of values up to " + std::to_string(greatest) +
                                              " with filter values of " + std::to_string(gain) +
                                              " in all could leave 32 bits"};
  }
  return {};
}

Status check_size(ImageView<const std::int32_t> src, int width, int height,
                  ImageView<std::int32_t> dst) {
  if (width < 1 || height < 1)
    return {StatusCode::kInvalidArgument, "a filter needs at least one value"};
  if (dst.width != src.width + width - 1 || dst.height != src.height + height - 1)
    return {StatusCode::kInvalidArgument, "the result must have the size picture + filter - 1"};
  return {};
}

/// The full convolution at `at` of the values 0 to n - 1 along a row or a column, 0 outside.
std::int32_t tap_sum(const std::vector<std::int32_t>& filter, int at, int n, auto value) {
  std::int32_t sum = 0;
  for (int i = 0; i < static_cast<int>(filter.size()); ++i) {
    if (at - i >= 0 && at - i < n) sum += value(at - i) * filter[static_cast<std::size_t>(i)];
  }
  return sum;
}

}  // namespace

Result<std::vector<int>> gaussian_weights(int size, double sigma) {
  if (size < 1 || size > kMostBlur || size % 2 == 0) {
    return Status(StatusCode::kInvalidArgument, "the size of a blur must be odd, from 1 to " +
                                                    std::to_string(kMostBlur) + ", not " +
                                                    std::to_string(size));
  }
  if (!std::isfinite(sigma) || sigma < 0)
    return Status(StatusCode::kInvalidArgument, "sigma must be 0 or more");
  if (sigma == 0 && size <= 7) return small_weights(size);
  if (sigma == 0) sigma = size * 0.15 + 0.35;

  const int half = size / 2;
  std::vector<double> gauss(static_cast<std::size_t>(half));
  double sum = 0;
  for (int i = 0; i < half; ++i) {
    const double twice = 2 * (i - half);  // in half pixels, as OpenCV counts
    gauss[static_cast<std::size_t>(i)] = std::exp(twice * twice * (-0.125 / (sigma * sigma)));
    sum += gauss[static_cast<std::size_t>(i)];
  }
  const double scale = 1 / (sum * 2 + 1);
  // What rounding leaves of a weight goes to the next one, and the middle takes the rest.
  std::vector<int> weights(static_cast<std::size_t>(size));
  double left = 0;
  int given = 0;
  for (int i = 0; i < half; ++i) {
    const double exact = gauss[static_cast<std::size_t>(i)] * scale * (1 << kBlurBits) + left;
    const int weight = static_cast<int>(std::nearbyint(exact));
    left = exact - weight;
    weights[static_cast<std::size_t>(i)] = weights[static_cast<std::size_t>(size - 1 - i)] = weight;
    given += 2 * weight;
  }
  weights[static_cast<std::size_t>(half)] = (1 << kBlurBits) - given;
  return weights;
}

void gaussian_blur(ImageView<const std::uint8_t> src, const std::vector<int>& weights,
                   ImageView<std::uint8_t> dst) {
  const int size = static_cast<int>(weights.size());
  const int half = size / 2;
  Image<std::uint16_t> across(src.width, src.height);  // 255 * 256 at most
  for (int y = 0; y < src.height; ++y) {
    for (int x = 0; x < src.width; ++x) {
      int sum = 0;
      for (int i = 0; i < size; ++i) {
        sum +=
            src.at(reflect_101(x + i - half, src.width), y) * weights[static_cast<std::size_t>(i)];
      }
      across.view().at(x, y) = static_cast<std::uint16_t>(sum);
    }
  }
  for (int y = 0; y < src.height; ++y) {
    for (int x = 0; x < src.width; ++x) {
      std::int32_t sum = 1 << (2 * kBlurBits - 1);
      for (int i = 0; i < size; ++i) {
        sum += across.view().at(x, reflect_101(y + i - half, src.height)) *
               weights[static_cast<std::size_t>(i)];
      }
      dst.at(x, y) = static_cast<std::uint8_t>(sum >> (2 * kBlurBits));
    }
  }
}

Filter outer_product(const std::vector<std::int32_t>& across,
                     const std::vector<std::int32_t>& down) {
  Filter out{static_cast<int>(across.size()), static_cast<int>(down.size()), {}};
  for (const std::int32_t y : down) {
    for (const std::int32_t x : across) out.values.push_back(x * y);
  }
  return out;
}

Status convolve_direct(ImageView<const std::int32_t> src, const Filter& filter,
                       std::int64_t greatest, ImageView<std::int32_t> dst) {
  CUFACE_TRY(check_size(src, filter.width, filter.height, dst));
  if (filter.values.size() !=
      static_cast<std::size_t>(filter.width) * static_cast<std::size_t>(filter.height))
    return {StatusCode::kInvalidArgument, "a filter has width * height values"};
  CUFACE_TRY(check_range(greatest, sum_of_magnitudes(filter.values)));
  for (int y = 0; y < dst.height; ++y) {
    for (int x = 0; x < dst.width; ++x) {
      std::int32_t sum = 0;
      for (int j = 0; j < filter.height; ++j) {
        for (int i = 0; i < filter.width; ++i) {
          if (x - i < 0 || x - i >= src.width || y - j < 0 || y - j >= src.height) continue;
          sum +=
              src.at(x - i, y - j) * filter.values[static_cast<std::size_t>(j * filter.width + i)];
        }
      }
      dst.at(x, y) = sum;
    }
  }
  return {};
}

Status convolve_separable(ImageView<const std::int32_t> src,
                          const std::vector<std::int32_t>& across,
                          const std::vector<std::int32_t>& down, std::int64_t greatest,
                          ImageView<std::int32_t> dst) {
  CUFACE_TRY(check_size(src, static_cast<int>(across.size()), static_cast<int>(down.size()), dst));
  const std::int64_t gain_across = sum_of_magnitudes(across), gain_down = sum_of_magnitudes(down);
  CUFACE_TRY(check_range(greatest, gain_across));
  CUFACE_TRY(check_range(greatest * gain_across, gain_down));
  Image<std::int32_t> rows(dst.width, src.height);
  for (int y = 0; y < src.height; ++y) {
    for (int x = 0; x < dst.width; ++x) {
      rows.view().at(x, y) = tap_sum(across, x, src.width, [&](int at) { return src.at(at, y); });
    }
  }
  for (int y = 0; y < dst.height; ++y) {
    for (int x = 0; x < dst.width; ++x) {
      dst.at(x, y) = tap_sum(down, y, src.height, [&](int at) { return rows.view().at(x, at); });
    }
  }
  return {};
}

}  // namespace cuface
