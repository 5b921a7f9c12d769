// What is around a landmark, and around places beside it: what a regression learns from.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/shape_training/shape_training.h"

namespace cuface::shape {

/// Of one face on one level. Each landmark has samples_of_landmark() of them.
struct DisplacedSamples {
  std::vector<float> textures;  ///< [landmarks][samples][size]; none: the face has no such level
  std::vector<float> targets;   ///< [landmarks][samples]: 1 at the landmark, to 0 away from it;
                                ///< of patches less their mean in the face
};

/// Of a landmark of a face.
inline std::size_t samples_of_landmark(const ShapeOptions& options) {
  return 1 + static_cast<std::size_t>(options.displaced);
}

/// Of a place so many pixels from the landmark, 0.6 at `target` pixels.
inline float likelihood(double target, double dx, double dy) {
  return static_cast<float>(std::exp(-(dx * dx + dy * dy) / (2 * target * target)));
}

}  // namespace cuface::shape
