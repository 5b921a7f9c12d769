// How sure a shape search is of a point: by how unusual the costs are where it and the points
// around it were found, and those of the whole face. One source for the CPU and CUDA.
// docs/design/confidence.md tells what it is worth.
#pragma once

#include <span>
#include <vector>

#include "kernels/common/host_device.h"

namespace cuface::shape {

/// What a point's cost is where faces are found well: `middle` is the median, `spread` the way from
/// there to the third quartile.
struct UsualCost {
  double middle = 0, spread = 1;
};

/// A point's score is a sum: `own` times how unusual its cost is, `around` times the mean of the
/// points around it, itself too, `face` times the mean of all, and `shape` times how unusual the
/// shape's cost is. Around it a point weighs by a Gaussian of its distance in the mean shape, whose
/// deviation is `reach` times the mean distance of points from their centre. How unusual a cost is
/// is cut to `least` and `most`.
struct ScoreParts {
  double own = 1, around = 0, face = 4, reach = 0.5, shape = 0, least = -3, most = 10;
};
inline constexpr double kMostScorePart = 1000, kLeastScoreReach = 0.01, kMostScoreReach = 100;

/// In spreads from the middle; cut, so that one point does not decide on a face. NaN is unusual.
CUFACE_HD inline double unusual(double cost, const UsualCost& usual, const ScoreParts& parts) {
  const double by = (cost - usual.middle) / usual.spread;
  if (!(by < parts.most)) return parts.most;
  return by > parts.least ? by : parts.least;
}

/// What a shape costs: the mean square of its modes' weights, in their limits. A mode without a
/// limit says nothing.
CUFACE_HD inline double shape_cost(const double* weights, const double* limits, int modes) {
  double sum = 0;
  for (int k = 0; k < modes; ++k) {
    if (!(limits[k] > 0)) continue;
    const double by = weights[k] / limits[k];
    sum += by * by;
  }
  return sum / modes;
}

/// [points + 1][points]: a row has what a point adds to each score, the last one what the shape
/// adds. `mean_shape`: x0, y0, x1 ...; not all points are the same.
std::vector<double> score_matrix(const ScoreParts& parts, std::span<const double> mean_shape);

/// The score of point `i`: a logarithm for ConfidenceTable. `costs`: the points', or one more where
/// the shape's counts. `offset`: how much worse it is than others of such costs. The sum is in the
/// order of the costs.
CUFACE_HD inline double score_of_costs(const double* matrix, const double* unusual_by, int costs,
                                       int points, int i, double offset) {
  double sum = offset;
  for (int j = 0; j < costs; ++j) sum += matrix[j * points + i] * unusual_by[j];
  return sum;
}

/// What a point weighs in the constraint where a HAT descriptor found it: its likelihood there,
/// which is the cost negated; `least` to 1. NaN weighs least.
CUFACE_HD inline double weight_of_cost(double cost, double least) {
  const double likelihood = -cost;
  if (!(likelihood > least)) return least;
  return likelihood < 1 ? likelihood : 1;
}

}  // namespace cuface::shape
