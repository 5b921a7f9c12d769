// Linear regression with a penalty on large coefficients.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace cuface::shape {

/// Ridge regression by the normal equations, which are summed up in double in the order of the
/// samples: no sample is kept.
class RidgeRegression {
 public:
  explicit RidgeRegression(std::size_t size);

  /// Rows of `size` numbers, and what each should give.
  void add(std::span<const float> samples, std::span<const float> targets);
  std::size_t count() const { return count_; }
  /// Intercept, then the coefficients. `ridge` is the penalty in mean variances of a number.
  std::vector<double> solve(double ridge) const;

 private:
  std::size_t size_, count_ = 0;
  std::vector<double> squares_;   ///< [size][size], the lower triangle: of products
  std::vector<double> products_;  ///< with the targets
  std::vector<double> sums_;
  double target_ = 0;
};

}  // namespace cuface::shape
