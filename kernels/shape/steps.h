// What a shape search is made of: the scaled window around a face, one iteration's matches, and the
// nearest legal shape. In double, in Stasm 4.1's order of sums, so that its results can be held
// against Stasm's step by step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/image.h"
#include "kernels/shape/constrain.h"
#include "kernels/shape/pyramid_rules.h"
#include "kernels/shape/shape_model.h"
#include "kernels/shape/start_rules.h"

namespace cuface::shape {

/// OpenCV 4.6's resize(INTER_LINEAR) of 8-bit grey by one factor: each size is rint(size * factor).
/// At exactly one half it is the mean of four pixels, and a picture of the same size is a copy, as
/// in OpenCV.
void resize_linear(ImageView<const std::uint8_t> from, double factor, Image<std::uint8_t>& to);

/// The part of a picture in which a face is looked for, at the sizes of the levels: level 0 is the
/// part times `factor`, each coarser one that again halved.
class Pyramid {
 public:
  /// kInvalidArgument: an empty part, or one whose level 0 is larger than kMaxShapeWindow or whose
  /// coarsest level has no pixel. Allocates.
  Status make(ImageView<const std::uint8_t> part, double factor, int levels, ShapePyramid kind);
  ImageView<const std::uint8_t> level(int i) const {
    return levels_[static_cast<std::size_t>(i)].view();
  }

 private:
  std::vector<Image<std::uint8_t>> levels_;
};

/// What of a model a level scales, for Constrain.
struct LevelNumbers {
  LevelNumbers(const ShapeModel& model, int level);
  ConstraintLevel view() const {
    return {mean.data(), limits.data(), centre,      mean_square,
            number,      parts.data(),  gram.data(), moments.data()};
  }

  int number;
  std::vector<ShapePoint> mean;
  std::vector<double> limits;
  std::vector<ShapePoint> parts;  ///< of an iterated constraint, as those that follow
  std::vector<double> gram, moments;
  ShapePoint centre;
  double mean_square = 0;

 private:
  void multiply_parts(const ShapeModel& model);
};

/// Of a model in host memory.
ConstraintTables constraint_tables(const ShapeModel& model);

/// The nearest legal shape, of one model. One thread at a time; run() allocates nothing.
class Constraint {
 public:
  explicit Constraint(const ShapeModel& model);

  /// Before the first iteration of a level.
  void start_level(int level);
  /// One pass: fits the pose of the shape that the modes' weights of the iteration before give,
  /// takes the points' weights in it, cut to the model's limit, and puts what they give in place of
  /// `points` (Cootes and Taylor, 2004, 4.8, once). Iterated: from weights of 0, pose and weights
  /// in turns until they rest, shapes projected to the tangent of the mean shape; then the cut.
  /// Then the rules count. `costs`, of each point: where the model weighs points by them.
  void run(std::span<ShapePoint> points, std::span<const double> costs = {});

  /// Of the modes: what is kept from one iteration to the next.
  std::span<double> weights() { return weights_; }
  /// Of the shape that the last run() has made.
  double shape_cost() const {
    return shape::shape_cost(
        weights_.data(), levels_[static_cast<std::size_t>(level_)].limits.data(), tables_.modes);
  }

 private:
  const ConstraintTables tables_;
  std::vector<LevelNumbers> levels_;
  int level_ = 0;
  std::vector<double> weights_, parts_, products_, sums_of_face_;
  std::vector<ShapePoint> modelled_;
  OrderedSums<ConstraintMemory::kSums> sums_;
  double sum_parts_[ConstraintMemory::kParts * ConstraintMemory::kSums] = {};
  Affine back_, there_;
};

/// Where a search starts for the face in a box.
void start_shape(const ShapeModel& model, const Box& box, std::span<ShapePoint> out);
/// The part of a picture in which that face is looked for, which may be empty; `out`: where the
/// search starts, in pixels of this part.
Rect start_in_window(const ShapeModel& model, const Box& box, int width, int height,
                     std::span<ShapePoint> out);

}  // namespace cuface::shape
