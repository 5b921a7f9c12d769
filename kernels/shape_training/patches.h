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

/// Moves a patch's mean so that a place's cost gets 2 * `pull` times its likelihood less, but for a
/// constant; `coefficients` say how likely it is. Of rows that do not span all of a patch, only the
/// part of the likelihood along them counts.
void pull_mean(std::span<const double> coefficients, double pull, Texture& texture);

}  // namespace cuface::shape
