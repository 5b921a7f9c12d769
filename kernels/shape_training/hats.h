// Samples of HAT descriptors, at landmarks and displaced from them.
#pragma once

#include <span>
#include <vector>

#include "kernels/shape_training/shape_training.h"
#include "kernels/texture/float_hat.h"

namespace cuface::shape {

/// Of one face on one level. Each landmark has samples_of_hat() of them.
struct HatSamples {
  std::vector<float> descriptors;  ///< [landmarks][samples][size]; none: the face has no such level
  std::vector<float> targets;      ///< [landmarks][samples]: 1 at the landmark, to 0 away from it
};

/// Of a landmark of a face.
std::size_t samples_of_hat(const ShapeOptions& options);

/// One thread at a time.
class HatSampler {
 public:
  /// `options` outlive it.
  explicit HatSampler(const ShapeOptions& options) : options_(options), hats_(options.hat, {}) {}
  HatSamples sample(const ShapeFaces& faces, std::size_t face, const ShapeModel& model, int level);

 private:
  const ShapeOptions& options_;
  FloatHat hats_;
};

}  // namespace cuface::shape
