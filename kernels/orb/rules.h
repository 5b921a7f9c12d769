// ORB's computations for one keypoint, for the CPU and CUDA: floats in OpenCV's order.
#pragma once

#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/features/direction.h"

namespace cuface::orb {

/// Sums over kHarrisBlock^2 pixels, of gradients by Sobel's operator.
inline constexpr int kHarrisBlock = 7;
struct HarrisSums {
  std::int32_t xx = 0, yy = 0, xy = 0;
};

CUFACE_HD inline float harris_response(const HarrisSums& sums) {
  constexpr float kScale = 1.0f / (4 * kHarrisBlock * 255.0f);
  constexpr float kScale4 = kScale * kScale * kScale * kScale;
  const auto a = static_cast<float>(sums.xx), b = static_cast<float>(sums.yy),
             c = static_cast<float>(sums.xy);
  return (a * b - c * c - 0.04f * (a + b) * (a + b)) * kScale4;
}

/// The circle of the centroid: pixels to each side of its middle, of its rows from the middle on.
inline constexpr int kRadius = 15;
inline constexpr int kHalfWidth[kRadius + 1] = {15, 15, 15, 15, 14, 14, 14, 13,
                                                13, 12, 11, 10, 9,  8,  6,  3};

using cuface::direction;
using cuface::roll_of;

/// The weights of the blur, a Gaussian of 7 pixels and sigma 2, from its end to its middle: those
/// of cv::getGaussianKernel.
inline constexpr int kBlurReach = 3;
inline constexpr float kBlur[kBlurReach + 1] = {0x1.1f5f62p-4f, 0x1.0c70fcp-3f, 0x1.869472p-3f,
                                                0x1.ba95cp-3f};

/// Seven values, of which those at equal distances from the middle are added before: the blur in
/// one direction.
CUFACE_HD inline float blur_of(float middle, float by1, float by2, float by3) {
  constexpr float k0 = kBlur[3], k1 = kBlur[2], k2 = kBlur[1], k3 = kBlur[0];
  return k0 * middle + k1 * by1 + k2 * by2 + k3 * by3;
}

}  // namespace cuface::orb
