#include "kernels/shape/confidence.h"

#include <cmath>
#include <cstddef>

namespace cuface::shape {

std::vector<double> score_matrix(const ScoreParts& parts, std::span<const double> mean_shape) {
  const std::size_t points = mean_shape.size() / 2;
  const auto count = static_cast<double>(points);
  double x = 0, y = 0, far = 0;
  for (std::size_t i = 0; i < points; ++i) {
    x += mean_shape[2 * i] / count;
    y += mean_shape[2 * i + 1] / count;
  }
  for (std::size_t i = 0; i < points; ++i)
    far += std::hypot(mean_shape[2 * i] - x, mean_shape[2 * i + 1] - y) / count;
  const double deviation = parts.reach * far;
  std::vector<double> matrix((points + 1) * points, parts.shape), weights(points);
  for (std::size_t i = 0; i < points; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < points; ++j) {
      const double right = (mean_shape[2 * j] - mean_shape[2 * i]) / deviation;
      const double down = (mean_shape[2 * j + 1] - mean_shape[2 * i + 1]) / deviation;
      weights[j] = std::exp((right * right + down * down) / -2);
      sum += weights[j];
    }
    for (std::size_t j = 0; j < points; ++j)
      matrix[j * points + i] = parts.around * weights[j] / sum + parts.face / count;
    matrix[i * points + i] += parts.own;
  }
  return matrix;
}

}  // namespace cuface::shape
