// How sure the forest is of a landmark: by how far the samples of its face are from each other
// there, and on the whole. Where the forest is lost, its answer hangs on the box (starts.h). One
// source for the CPU and CUDA. docs/design/confidence.md tells what it is worth.
#pragma once

#include <cmath>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/faces/point_confidence.h"
#include "kernels/landmark_samples/landmark_samples.h"

namespace cuface::forest {

/// The mean distance of one landmark's samples from their mean, in sides of the box that they are
/// about; made larger so that its expectation does not hang on their number, which is 2 or more.
/// Doubles, added in the order of the samples; `at(k)` is the landmark of sample k.
CUFACE_HD_GENERIC
template <typename At>
CUFACE_HD float spread_of_samples(int samples, Point mean, double side, At at) {
  double sum = 0;
  for (int k = 0; k < samples; ++k) {
    const Point p = at(k);
    const double dx = static_cast<double>(p.x) - static_cast<double>(mean.x);
    const double dy = static_cast<double>(p.y) - static_cast<double>(mean.y);
    sum += std::sqrt(dx * dx + dy * dy);
  }
  return static_cast<float>(sum / std::sqrt(samples * (samples - 1.0)) / side);
}

/// The mean over a face: doubles added in the order of the landmarks.
CUFACE_HD inline double mean_spread(const float* spreads, int landmarks) {
  double sum = 0;
  for (int i = 0; i < landmarks; ++i) sum += static_cast<double>(spreads[i]);
  return sum / landmarks;
}

/// The confidence of a landmark in a face with that mean.
CUFACE_HD inline float confidence_of_spread(const ConfidenceTable& table, float spread,
                                            double mean) {
  return confidence_of(table, static_cast<double>(spread) * mean);
}

}  // namespace cuface::forest
