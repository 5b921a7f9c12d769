// Eigenvectors of symmetric matrices.
#pragma once

#include <span>
#include <vector>

namespace cuface::shape {

/// `matrix` has n rows of n, symmetric. Eigenvalues descend; column k of `vectors` belongs to value
/// k, and its largest entry is positive. By Householder's tridiagonal form and QL (EISPACK's tred2
/// and tql2), in a stated order: the same bits each time.
struct Eigen {
  std::vector<double> values;
  std::vector<double> vectors;  ///< [n][n]
};
Eigen eigen(std::span<const double> matrix, int n);

}  // namespace cuface::shape
