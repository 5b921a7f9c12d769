// Samples of patches, at landmarks and displaced from them, each face's less their mean.
#pragma once

#include "kernels/shape_training/displaced.h"

namespace cuface::shape {

/// One thread at a time.
class PatchSampler {
 public:
  /// `options` outlive it.
  explicit PatchSampler(const ShapeOptions& options) : options_(options) {}
  DisplacedSamples sample(const ShapeFaces& faces, std::size_t face, const ShapeModel& model,
                          int level) const;

 private:
  const ShapeOptions& options_;
};

/// Gives a patch's model its likelihood, `weight` times the coefficients; none, of a landmark whose
/// faces are too few: 0. And the base, which with rows that span a patch is the least that will do.
void add_likelihood(std::span<const double> coefficients, double weight, std::size_t size,
                    Texture& texture);

}  // namespace cuface::shape
