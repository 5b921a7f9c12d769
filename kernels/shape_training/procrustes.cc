#include <algorithm>
#include <cmath>

#include "kernels/shape_training/eigen.h"
#include "kernels/shape_training/shape_training.h"

namespace cuface::shape {
namespace {

double dot(const double* a, const double* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void centre(double* shape, std::size_t points) {
  double x = 0, y = 0;
  for (std::size_t i = 0; i < points; ++i) x += shape[2 * i], y += shape[2 * i + 1];
  x /= static_cast<double>(points), y /= static_cast<double>(points);
  for (std::size_t i = 0; i < points; ++i) shape[2 * i] -= x, shape[2 * i + 1] -= y;
}

void scale(double* shape, std::size_t n, double factor) {
  for (std::size_t i = 0; i < n; ++i) shape[i] *= factor;
}

void to_unit(double* shape, std::size_t n) {
  const double length = std::sqrt(dot(shape, shape, n));
  if (length > 0) scale(shape, n, 1 / length);
}

/// Turns `shape` to where it is nearest to `to`.
void turn_to(double* shape, const double* to, std::size_t points) {
  double a = 0, b = 0;
  for (std::size_t i = 0; i < points; ++i) {
    a += shape[2 * i] * to[2 * i] + shape[2 * i + 1] * to[2 * i + 1];
    b += shape[2 * i] * to[2 * i + 1] - shape[2 * i + 1] * to[2 * i];
  }
  const double length = std::sqrt(a * a + b * b);
  if (!(length > 0)) return;
  a /= length, b /= length;
  for (std::size_t i = 0; i < points; ++i) {
    const double x = shape[2 * i], y = shape[2 * i + 1];
    shape[2 * i] = a * x - b * y;
    shape[2 * i + 1] = b * x + a * y;
  }
}

/// Of shapes [count][n].
std::vector<double> mean_of(const std::vector<double>& shapes, std::size_t n) {
  std::vector<double> mean(n);
  for (std::size_t i = 0; i < shapes.size(); ++i) mean[i % n] += shapes[i];
  for (double& v : mean) v /= static_cast<double>(shapes.size() / n);
  return mean;
}

}  // namespace

AlignedShapes align_shapes(std::span<const double> shapes, std::size_t points) {
  constexpr int kMostRounds = 100;
  constexpr double kRest = 1e-12;
  const std::size_t n = 2 * points, count = shapes.size() / n;
  AlignedShapes out;
  out.aligned.assign(shapes.begin(), shapes.end());
  std::vector<double>& all = out.aligned;
  for (std::size_t i = 0; i < count; ++i) {
    centre(all.data() + i * n, points);
    to_unit(all.data() + i * n, n);
  }
  // The first reference, so the orientation that shapes have on average stays.
  std::vector<double> mean = mean_of(all, n);
  to_unit(mean.data(), n);
  const std::vector<double> upright = mean;
  double change = 1;
  for (int round = 0; round < kMostRounds && change > kRest; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      double* const shape = all.data() + i * n;
      turn_to(shape, mean.data(), points);
      const double along = dot(shape, mean.data(), n);
      if (along > 0) scale(shape, n, 1 / along);
    }
    std::vector<double> next = mean_of(all, n);
    turn_to(next.data(), upright.data(), points);
    to_unit(next.data(), n);
    change = 0;
    for (std::size_t i = 0; i < n; ++i) change = std::max(change, std::abs(next[i] - mean[i]));
    mean = std::move(next);
  }
  std::vector<double> covariance(n * n);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t r = 0; r < n; ++r) {
      const double value = all[i * n + r] - mean[r];
      for (std::size_t c = 0; c < n; ++c)
        covariance[r * n + c] += value * (all[i * n + c] - mean[c]);
    }
  }
  for (double& v : covariance) v /= static_cast<double>(std::max<std::size_t>(count, 2) - 1);
  Eigen modes = eigen(covariance, static_cast<int>(n));
  out.mean = std::move(mean);
  out.eigenvalues = std::move(modes.values);
  out.eigenvectors = std::move(modes.vectors);
  return out;
}

std::size_t kept_modes(std::span<const double> eigenvalues, double share) {
  double all = 0, kept = 0;
  for (const double v : eigenvalues) all += std::max(v, 0.0);
  std::size_t count = 0;
  while (count < eigenvalues.size() && (count == 0 || kept < share * all)) {
    // What is rounding's is no mode.
    if (count > 0 && eigenvalues[count] <= 1e-12 * eigenvalues[0]) break;
    kept += eigenvalues[count++];
  }
  return count;
}

}  // namespace cuface::shape
