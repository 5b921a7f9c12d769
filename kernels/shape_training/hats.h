// Samples of HAT descriptors, at landmarks and displaced from them.
#pragma once

#include "kernels/shape_training/displaced.h"
#include "kernels/texture/float_hat.h"

namespace cuface::shape {

/// One thread at a time.
class HatSampler {
 public:
  /// `options` outlive it.
  explicit HatSampler(const ShapeOptions& options) : options_(options), hats_(options.hat, {}) {}
  DisplacedSamples sample(const ShapeFaces& faces, std::size_t face, const ShapeModel& model,
                          int level);

 private:
  const ShapeOptions& options_;
  FloatHat hats_;
};

}  // namespace cuface::shape
