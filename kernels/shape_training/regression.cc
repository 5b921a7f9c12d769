#include "kernels/shape_training/regression.h"

#include <algorithm>
#include <cmath>

namespace cuface::shape {
namespace {

/// Solves m x = v of a positive definite matrix by Cholesky's decomposition, in place.
void solve_positive(std::vector<double>& m, std::vector<double>& v) {
  const std::size_t n = v.size();
  for (std::size_t r = 0; r < n; ++r) {
    double* const row = m.data() + r * n;
    for (std::size_t c = 0; c <= r; ++c) {
      const double* const other = m.data() + c * n;
      double sum = row[c];
      for (std::size_t k = 0; k < c; ++k) sum -= row[k] * other[k];
      row[c] = c < r ? sum / other[c] : std::sqrt(sum);
    }
    for (std::size_t k = 0; k < r; ++k) v[r] -= row[k] * v[k];
    v[r] /= row[r];
  }
  for (std::size_t r = n; r-- > 0;) {
    for (std::size_t k = r + 1; k < n; ++k) v[r] -= m[k * n + r] * v[k];
    v[r] /= m[r * n + r];
  }
}

}  // namespace

RidgeRegression::RidgeRegression(std::size_t size)
    : size_(size), squares_(size * size), products_(size), sums_(size) {}

void RidgeRegression::add(std::span<const float> samples, std::span<const float> targets) {
  std::vector<double> x(size_);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto y = static_cast<double>(targets[i]);
    std::copy_n(samples.begin() + static_cast<std::ptrdiff_t>(i * size_), size_, x.begin());
    for (std::size_t r = 0; r < size_; ++r) {
      double* const row = squares_.data() + r * size_;
      const double value = x[r];
      for (std::size_t c = 0; c <= r; ++c) row[c] += value * x[c];
      products_[r] += value * y;
      sums_[r] += value;
    }
    target_ += y;
  }
  count_ += targets.size();
}

std::vector<double> RidgeRegression::solve(double ridge) const {
  const auto count = static_cast<double>(std::max<std::size_t>(count_, 1));
  constexpr double kLeast = 1e-9;  // where samples are all alike
  std::vector<double> covariance(squares_), out(products_);
  double variance = 0;
  for (std::size_t r = 0; r < size_; ++r) {
    for (std::size_t c = 0; c <= r; ++c) {
      double& value = covariance[r * size_ + c];
      value = value / count - sums_[r] / count * (sums_[c] / count);
    }
    variance += covariance[r * size_ + r] / static_cast<double>(size_);
    out[r] = out[r] / count - sums_[r] / count * (target_ / count);
  }
  for (std::size_t r = 0; r < size_; ++r)
    covariance[r * size_ + r] += ridge * std::max(variance, 0.0) + kLeast;
  solve_positive(covariance, out);
  double intercept = target_ / count;
  for (std::size_t r = 0; r < size_; ++r) intercept -= out[r] * sums_[r] / count;
  out.insert(out.begin(), intercept);
  return out;
}

}  // namespace cuface::shape
