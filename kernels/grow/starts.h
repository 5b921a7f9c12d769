// The initial data of training: target shapes, their mean, a starting shape for each sample, and
// feature pixels. All in float and in one order, as dlib has it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/grow/draws.h"
#include "kernels/grow/grow.h"

namespace cuface::grow {

/// Shapes in the unit box, x0, y0, x1, y1 ... each. Face i has the samples from
/// i * oversampling_amount on.
struct Starts {
  std::vector<float> mean;     ///< [2 * landmarks]
  std::vector<float> targets;  ///< [faces][2 * landmarks]; 0 where a landmark is not there
  std::vector<float> shapes;   ///< [samples][2 * landmarks]
};

/// 0 for 0, as dlib's.
inline float reciprocal(float value) { return value == 0 ? 0 : 1 / value; }

/// Each landmark is there in one face at least.
Starts make_starts(const LabelledFaces& faces, const ForestOptions& options, Draws& draws);

/// The feature pixels of all stages, on the mean shape.
std::vector<Point> draw_pixels(std::span<const float> mean, const ForestOptions& options,
                               Draws& draws);

/// Hangs pixels on their nearest landmarks: the tables of a ForestModel.
void anchor_pixels(std::span<const float> mean, std::span<const Point> pixels,
                   std::vector<std::uint32_t>& anchors, std::vector<float>& deltas);

/// Whether a landmark of a face is there.
inline bool is_present(const LabelledFaces& faces, std::size_t face, std::size_t landmark) {
  return faces.present.empty() ||
         faces.present[face * static_cast<std::size_t>(faces.landmarks) + landmark] != 0;
}

/// What a face counts.
inline int weight_of(const LabelledFaces& faces, std::size_t face) {
  return faces.weights.empty() ? 1 : faces.weights[face];
}

}  // namespace cuface::grow
