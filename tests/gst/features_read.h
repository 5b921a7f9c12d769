// What the kernels find in a picture, for tests of the elements.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <opencv2/core.hpp>

#include "kernels/keypoints/keypoints.h"

namespace cuface::test {

inline FeatureConfig with_orb(const OrbConfig& orb) { return {.orb = orb}; }

inline FeatureConfig with_surf(const SurfConfig& surf = {}) {
  return {FeatureDetector::kHessian, FeatureDescriptor::kSurf, {}, surf};
}

inline Features features_of(const cv::Mat& grey, const FeatureConfig& config = {}) {
  Features out;
  EXPECT_TRUE(
      find_keypoints(config,
                     {grey.data, grey.cols, grey.rows, static_cast<std::ptrdiff_t>(grey.step)}, out)
          .ok());
  return out;
}

}  // namespace cuface::test
