// How sure a shape search is of a point: by how unusual its cost is where it was found, and those
// of the whole face. One source for the CPU and CUDA. docs/design/confidence.md tells what it is
// worth.
#pragma once

#include "kernels/common/host_device.h"

namespace cuface::shape {

/// What a point's cost is where faces are found well: a quarter of them lie above the half by more
/// than the spread. The middle is this half, less what the point is worse than others of such
/// costs.
struct UsualCost {
  double middle = 0, spread = 1;
};

/// In spreads from the middle; cut, so that one point does not decide on a face. NaN is unusual.
CUFACE_HD inline double unusual(double cost, const UsualCost& usual) {
  constexpr double kLeast = -3, kMost = 10;
  const double by = (cost - usual.middle) / usual.spread;
  if (!(by < kMost)) return kMost;
  return by > kLeast ? by : kLeast;
}

/// The score of a point of a face with this mean: a logarithm for ConfidenceTable.
CUFACE_HD inline double score_of_cost(double unusual_by, double mean) {
  constexpr double kOfFace = 4;
  return unusual_by + kOfFace * mean;
}

/// What a point weighs in the constraint where a HAT descriptor found it: its likelihood there,
/// which is the cost negated; `least` to 1. NaN weighs least.
CUFACE_HD inline double weight_of_cost(double cost, double least) {
  const double likelihood = -cost;
  if (!(likelihood > least)) return least;
  return likelihood < 1 ? likelihood : 1;
}

}  // namespace cuface::shape
