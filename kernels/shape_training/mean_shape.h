// The shape of a model: its mean, its modes, and where it lies in boxes.
#pragma once

#include <span>
#include <vector>

#include "kernels/shape_training/shape_training.h"

namespace cuface::shape {

/// What a model's spans point into, but its textures.
struct MeanShapeTables {
  std::vector<double> mean_shape, eigenvalues, eigenvectors, weights;
  std::vector<ShapeNeighbours> neighbours;
};

/// Everything of the model that options say, and what these faces say of its shape, whose tables
/// are in `t`. kInvalidArgument: a face of no size, or a window that no reader allows.
Status make_shape(const ShapeFaces& faces, std::span<const std::size_t> whole,
                  const ShapeOptions& options, ShapeModel& model, MeanShapeTables& t);

}  // namespace cuface::shape
