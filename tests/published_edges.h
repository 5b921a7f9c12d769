// The published settings of edges [S1.03 - S1.07].
#pragma once

#include "kernels/edges/edges.h"

namespace cuface::test {

/// As the preset `published` of cuedgedetect, but with the convolution of OpenCV.
inline EdgeConfig published_edges() {
  EdgeConfig config;
  config.sigma = 5;
  config.norm = GradientNorm::kL2;
  config.low = 15;
  config.high = 25;
  config.linking = Linking::kApron;
  config.thinning = Thinning::kSectors;
  return config;
}

/// Those of experiment S1.E3.
inline EdgeConfig published_edges_without_blur() {
  EdgeConfig config = published_edges();
  config.kernel_size = 1;
  config.sigma = 0;
  config.low = 70;
  config.high = 80;
  return config;
}

}  // namespace cuface::test
