// How far the samples of a leaf lie apart: what ForestModel::leaf_spreads holds. One source for the
// CPU and CUDA. All sums are integers, so that no order of additions changes a bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/host_device.h"
#include "kernels/grow/steps.h"
#include "kernels/landmarks/landmarks.h"

namespace cuface::grow {

/// A residual of a spread is cut to half a box: more would overflow 64 bits with all samples.
inline constexpr std::int32_t kMostSpread = std::int32_t{1} << (kLeafSpreadBits - 1);

/// The residuals of a landmark in a leaf, in steps of 2^-kLeafSpreadBits of the box.
struct SpreadSums {
  std::int64_t x = 0, y = 0, squares = 0, weight = 0;

  CUFACE_HD void add(std::int32_t residual_x, std::int32_t residual_y, std::int64_t by) {
    const std::int64_t u = steps_of(residual_x), v = steps_of(residual_y);
    x += by * u;
    y += by * v;
    squares += by * (u * u + v * v);
    weight += by;
  }
  CUFACE_HD void add(const SpreadSums& other) {
    x += other.x;
    y += other.y;
    squares += other.squares;
    weight += other.weight;
  }

  /// The root of the mean squared distance from the mean.
  std::uint16_t spread() const {
    if (weight == 0) return 0;
    const auto all = static_cast<double>(weight);
    const double mean_x = static_cast<double>(x) / all, mean_y = static_cast<double>(y) / all;
    const double variance = static_cast<double>(squares) / all - mean_x * mean_x - mean_y * mean_y;
    return static_cast<std::uint16_t>(std::rint(std::sqrt(std::max(variance, 0.0))));
  }

 private:
  /// Halves go up.
  CUFACE_HD static std::int64_t steps_of(std::int32_t residual) {
    constexpr int kShift = kResidualBits - kLeafSpreadBits;
    const std::int32_t steps = (residual + (1 << (kShift - 1))) >> kShift;
    return steps > kMostSpread ? kMostSpread : steps < -kMostSpread ? -kMostSpread : steps;
  }
};

/// For one tree: `sums` and `spreads` are [leaves][landmarks]. A leaf that no sample with the
/// landmark has reached gets the spread of the whole tree.
inline void write_spreads(std::span<const SpreadSums> sums, std::size_t landmarks,
                          std::span<std::uint16_t> spreads) {
  for (std::size_t landmark = 0; landmark < landmarks; ++landmark) {
    SpreadSums all;
    for (std::size_t i = landmark; i < sums.size(); i += landmarks) all.add(sums[i]);
    for (std::size_t i = landmark; i < sums.size(); i += landmarks)
      spreads[i] = sums[i].weight > 0 ? sums[i].spread() : all.spread();
  }
}

}  // namespace cuface::grow
