// Sums of pictures on the device and on the CPU side by side.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/integral/integral.h"
#include "kernels/integral/integral_cuda.h"
#include "tests/gpu/compare.h"

namespace cuface::test {

/// Whether the device has the words of the reference's; adds their number to `compared`.
template <typename T>
void compare_sums(ImageView<const T> got, ImageView<const T> want, long& compared) {
  ASSERT_EQ(got.width, want.width);
  ASSERT_EQ(got.height, want.height);
  const auto row = static_cast<int>(static_cast<std::size_t>(got.width) * sizeof(T));
  const std::vector<T> values = values_of<T>(
      download({reinterpret_cast<const std::uint8_t*>(got.data), row, got.height, got.stride}));
  for (int y = 0; y < want.height; ++y)
    ASSERT_TRUE(std::equal(want.row(y), want.row(y) + want.width,
                           values.begin() + std::ptrdiff_t{y} * want.width))
        << "row " << y;
  compared += static_cast<long>(values.size());
}

/// What IntegralImages has made of `picture` against the reference.
inline void compare_integrals(const cuda::IntegralImages& integrals,
                              ImageView<const std::uint8_t> picture, long& compared) {
  Image<std::uint32_t> sums(picture.width + 1, picture.height + 1);
  Image<std::uint64_t> squared(picture.width + 1, picture.height + 1);
  integral_squared(picture, sums.view(), squared.view());
  compare_sums<std::uint32_t>(integrals.sums(), sums.view(), compared);
  compare_sums<std::uint64_t>(integrals.squared(), squared.view(), compared);
  if (integrals.tilted() == 0 || testing::Test::HasFatalFailure()) return;
  integral_tilted(picture, sums.view());
  ImageView<const std::uint32_t> tilted = integrals.sums();
  tilted.data += integrals.tilted();
  compare_sums<std::uint32_t>(tilted, sums.view(), compared);
}

}  // namespace cuface::test
