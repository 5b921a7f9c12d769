// A model from all faces, without confidences.
#pragma once

#include "kernels/shape_training/shape_training.h"

namespace cuface::shape {

/// With all landmarks.
inline constexpr std::size_t kFewestWholeFaces = 3;

/// As train_shape(), of arguments that it has checked.
Result<std::shared_ptr<const ShapeModel>> learn_shape(const ShapeFaces& faces,
                                                      const ShapeOptions& options,
                                                      const ShapeRun& run, LearntTextures begun);

}  // namespace cuface::shape
