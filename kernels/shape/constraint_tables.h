// What the constraint of either kind reads of a model, and what its lanes share.
#pragma once

#include <algorithm>

#include "kernels/common/host_device.h"
#include "kernels/common/ordered_sums.h"
#include "kernels/shape/shape_model.h"

namespace cuface::shape {

/// Turns by atan2(b, a), and scales by its length, then shifts.
struct Pose {
  double a = 1, b = 0, x = 0, y = 0;
};

/// The rows of an affine map.
struct Affine {
  double xx = 1, xy = 0, x = 0, yx = 0, yy = 1, y = 0;
  CUFACE_HD ShapePoint operator()(const ShapePoint& p) const {
    return {xx * p.x + xy * p.y + x, yx * p.x + yy * p.y + y};
  }
};

/// What the constraint reads of a model.
struct ConstraintTables {
  int points, modes, rules, first_rule_level;
  ShapeConstraint kind;
  int size_left, size_right, size_below;
  double missing_within, least_weight;
  const double* eigenvectors;  ///< [points][2][modes]
  const double* weights;       ///< [points]
  const ShapeRule* rule;       ///< [rules]
  const ShapeMove* moves;

  CUFACE_HD double vector(int row, int mode) const { return eigenvectors[row * modes + mode]; }
};

/// What of it a level scales.
struct ConstraintLevel {
  const ShapePoint* mean;  ///< [points]
  const double* limits;    ///< [modes]
  ShapePoint centre;       ///< of the mean shape
  double mean_square;      ///< of its points' distances from that, all in all
  int number;
  /// For the iterated constraint, the parts of a shape: the mean about its centre, the modes, and a
  /// shift in x.
  const ShapePoint* parts;  ///< [points][parts]
  /// Sums over the points, each of all parts.
  const double* gram;     ///< [parts][parts]: weighed products of two
  const double* moments;  ///< [kMoments][parts]
  /// [parts][parts]: products by what points lack to a weight of 1; null where they weigh 1.
  const double* rest = nullptr;
  /// A mode's weight, of a legal shape.
  CUFACE_HD double cut(double weight, int mode) const {
    return std::clamp(weight, -limits[mode], limits[mode]);
  }
  enum Moment { kX, kY, kByMean, kMoments };
};

/// What lanes share.
struct ConstraintMemory {
  static constexpr int kSums = 8, kParts = 4;
  /// A sum of the iterated constraint over all points is made of so many, so that lanes share it.
  static constexpr int kPointParts = 8;
  ShapePoint* modelled;  ///< [points]
  double* weights;       ///< [modes], kept from one iteration of a level to the next
  double* parts;         ///< [kParts][modes]
  OrderedSums<kSums>* sums;
  double* sum_parts;     ///< [kSums][kParts]
  Affine *back, *there;  ///< from the face to the model, and from the model to the face
  double* products;      ///< products_of(modes) of them, for the iterated constraint
  const double* costs;   ///< [points], of what was found; read where the model weighs by them
  double* sums_of_face;  ///< weighed_sums_of(modes) of them there, else null

  /// Its weighed sums over all points, in kPointParts parts each: of the points as they are and
  /// turned by a right angle.
  enum Product { kAlong, kAcross, kProducts };
  /// What fits the pose: the model's moments, and its products with the points and itself.
  enum Term { kModelX, kModelY, kAlongModel, kAcrossModel, kModelSquare, kTerms };
  static_assert(kTerms <= kSums);
  /// The mean, the modes, and a shift in x; odd, by one of zeros: lanes that take a point each read
  /// a column of parts, of which no two are in one bank of shared memory then.
  CUFACE_HD static int parts_of(int modes) { return (modes + 2) | 1; }
  /// After a round, a shape's modes are these times numbers of the round, added up: their products
  /// with the points as they are and turned, their moments, and the mean less its own modes.
  enum Span { kOfAlong, kOfAcross, kOfX, kOfY, kOfMean, kSpan };
  /// Of each of them, a term but the last, and its weighed products with all of them.
  static constexpr int kSpanTerms = int{kModelSquare} + int{kSpan};
  CUFACE_HD static int products_of(int modes) {
    return (kProducts * kPointParts + kTerms + 2 * kSpan) * parts_of(modes) + kSpanTerms * kSpan;
  }
  CUFACE_HD static int weighed_sums_of(int modes) {
    return (2 * parts_of(modes) + ConstraintLevel::kMoments) * parts_of(modes);
  }
};

CUFACE_HD inline Affine forward(const Pose& p) { return {p.a, -p.b, p.x, p.b, p.a, p.y}; }

inline constexpr double kSmallestPivot = 2.220446049250313e-14;

}  // namespace cuface::shape
