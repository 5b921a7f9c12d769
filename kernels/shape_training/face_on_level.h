// A labelled face as a search sees it on one level of the pyramid.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/shape/steps.h"
#include "kernels/shape_training/shape_training.h"

namespace cuface::shape {

class FaceOnLevel {
 public:
  /// False where a search would refuse the face: it is too small or too large.
  bool make(const ShapeFaces& faces, std::size_t face, const ShapeModel& model, int level);

  ImageView<const std::uint8_t> picture() const { return pyramid_.level(level_); }
  std::span<const ShapePoint> points() const { return points_; }

 private:
  Pyramid pyramid_;
  int level_ = 0;
  std::vector<ShapePoint> points_;
};

/// In pixels of its picture.
std::vector<ShapePoint> points_of(const ShapeFaces& faces, std::size_t face);

/// Of each landmark of the scheme that is known for so many, or of its number's neighbours.
std::vector<ShapeNeighbours> neighbours_of(int landmarks);

/// Which landmarks of which faces can be learnt from, [faces][landmarks]: those around which a
/// square of `side` pixels of the level lies in the picture, or of which this share does, or any if
/// less than ShapeOptions::kFewestSamples faces have so much.
std::vector<std::uint8_t> used_landmarks(const ShapeFaces& faces, const ShapeModel& model,
                                         int level, double side, double share);

}  // namespace cuface::shape
