#include "kernels/shape_training/eigen.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

namespace cuface::shape {
namespace {

/// EISPACK's tred2 and tql2 on rows: v[i] is row i of the matrix, in the end of eigenvectors.
class Solver {
 public:
  Solver(std::span<const double> matrix, int n)
      : n_(n), v_(matrix.begin(), matrix.end()), d_(size(n)), e_(size(n)) {
    tridiagonalise();
    diagonalise();
  }

  double value(int k) const { return d_[size(k)]; }
  double vector(int row, int k) const { return v_[size(row) * size(n_) + size(k)]; }

 private:
  static std::size_t size(int i) { return static_cast<std::size_t>(i); }
  double& v(int row, int column) { return v_[size(row) * size(n_) + size(column)]; }
  double& d(int i) { return d_[size(i)]; }
  double& e(int i) { return e_[size(i)]; }

  void reflect(int i, double h) {
    const double f = d(i - 1);
    const double g = f > 0 ? -std::sqrt(h) : std::sqrt(h);
    e(i) = g;
    h -= f * g;
    d(i - 1) = f - g;
    for (int j = 0; j < i; ++j) e(j) = 0;
    for (int j = 0; j < i; ++j) {
      const double along = d(j);
      v(j, i) = along;
      double sum = e(j) + v(j, j) * along;
      for (int k = j + 1; k < i; ++k) {
        sum += v(k, j) * d(k);
        e(k) += v(k, j) * along;
      }
      e(j) = sum;
    }
    double sum = 0;
    for (int j = 0; j < i; ++j) {
      e(j) /= h;
      sum += e(j) * d(j);
    }
    const double half = sum / (h + h);
    for (int j = 0; j < i; ++j) e(j) -= half * d(j);
    for (int j = 0; j < i; ++j) {
      const double a = d(j), b = e(j);
      for (int k = j; k < i; ++k) v(k, j) -= a * e(k) + b * d(k);
      d(j) = v(i - 1, j);
      v(i, j) = 0;
    }
    d(i) = h;
  }

  void tridiagonalise() {
    for (int j = 0; j < n_; ++j) d(j) = v(n_ - 1, j);
    for (int i = n_ - 1; i > 0; --i) {
      double scale = 0, h = 0;
      for (int k = 0; k < i; ++k) scale += std::abs(d(k));
      if (scale == 0) {
        e(i) = d(i - 1);
        for (int j = 0; j < i; ++j) {
          d(j) = v(i - 1, j);
          v(i, j) = 0;
          v(j, i) = 0;
        }
        d(i) = 0;
        continue;
      }
      for (int k = 0; k < i; ++k) {
        d(k) /= scale;
        h += d(k) * d(k);
      }
      reflect(i, h);
      e(i) *= scale;
    }
    accumulate();
  }

  void accumulate() {
    for (int i = 0; i < n_ - 1; ++i) {
      v(n_ - 1, i) = v(i, i);
      v(i, i) = 1;
      const double h = d(i + 1);
      if (h != 0) {
        for (int k = 0; k <= i; ++k) d(k) = v(k, i + 1) / h;
        for (int j = 0; j <= i; ++j) {
          double g = 0;
          for (int k = 0; k <= i; ++k) g += v(k, i + 1) * v(k, j);
          for (int k = 0; k <= i; ++k) v(k, j) -= g * d(k);
        }
      }
      for (int k = 0; k <= i; ++k) v(k, i + 1) = 0;
    }
    for (int j = 0; j < n_; ++j) {
      d(j) = v(n_ - 1, j);
      v(n_ - 1, j) = 0;
    }
    v(n_ - 1, n_ - 1) = 1;
    e(0) = 0;
  }

  /// One implicit QL step of the rows l to m.
  void step(int l, int m, double shifted, double second) {
    double p = shifted, c = 1, c2 = 1, c3 = 1, s = 0, s2 = 0;
    for (int i = m - 1; i >= l; --i) {
      c3 = c2;
      c2 = c;
      s2 = s;
      double g = c * e(i);
      const double h = c * p;
      const double r = std::sqrt(p * p + e(i) * e(i));
      e(i + 1) = s * r;
      s = e(i) / r;
      c = p / r;
      p = c * d(i) - s * g;
      d(i + 1) = h + s * (c * g + s * d(i));
      for (int k = 0; k < n_; ++k) {
        g = v(k, i + 1);
        v(k, i + 1) = s * v(k, i) + c * g;
        v(k, i) = c * v(k, i) - s * g;
      }
    }
    p = -s * s2 * c3 * second * e(l) / after_;
    e(l) = s * p;
    d(l) = c * p;
  }

  void diagonalise() {
    constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
    constexpr int kMostSteps = 100;  // 2 or 3 are usual
    for (int i = 1; i < n_; ++i) e(i - 1) = e(i);
    e(n_ - 1) = 0;
    double shift = 0, largest = 0;
    for (int l = 0; l < n_; ++l) {
      largest = std::max(largest, std::abs(d(l)) + std::abs(e(l)));
      int m = l;
      while (m < n_ - 1 && std::abs(e(m)) > kEpsilon * largest) ++m;
      for (int steps = 0; m > l && steps < kMostSteps; ++steps) {
        const double g = d(l);
        double p = (d(l + 1) - g) / (2 * e(l));
        const double r = p < 0 ? -std::sqrt(p * p + 1) : std::sqrt(p * p + 1);
        d(l) = e(l) / (p + r);
        d(l + 1) = e(l) * (p + r);
        after_ = d(l + 1);
        const double h = g - d(l);
        for (int i = l + 2; i < n_; ++i) d(i) -= h;
        shift += h;
        p = d(m);
        step(l, m, p, e(l + 1));
        if (!(std::abs(e(l)) > kEpsilon * largest)) break;
      }
      d(l) += shift;
      e(l) = 0;
    }
  }

  const int n_;
  double after_ = 0;
  std::vector<double> v_, d_, e_;
};

}  // namespace

Eigen eigen(std::span<const double> matrix, int n) {
  const Solver solver(matrix, n);
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return solver.value(a) > solver.value(b); });
  Eigen out;
  out.vectors.resize(matrix.size());
  for (int k = 0; k < n; ++k) {
    const int from = order[static_cast<std::size_t>(k)];
    out.values.push_back(solver.value(from));
    double largest = 0;
    for (int i = 0; i < n; ++i)
      if (std::abs(solver.vector(i, from)) > std::abs(largest)) largest = solver.vector(i, from);
    for (int i = 0; i < n; ++i) {
      out.vectors[static_cast<std::size_t>(i * n + k)] =
          largest < 0 ? -solver.vector(i, from) : solver.vector(i, from);
    }
  }
  return out;
}

}  // namespace cuface::shape
