#include <algorithm>
#include <cmath>

#include "kernels/shape_training/eigen.h"
#include "kernels/shape_training/shape_training.h"

namespace cuface::shape {
namespace {

struct Moments {
  std::vector<double> mean;
  Eigen eigen;
};

Moments moments(std::span<const float> samples, std::size_t size) {
  const std::size_t count = samples.size() / size;
  Moments out;
  out.mean.resize(size);
  for (std::size_t i = 0; i < samples.size(); ++i)
    out.mean[i % size] += static_cast<double>(samples[i]);
  for (double& v : out.mean) v /= static_cast<double>(count);
  std::vector<double> covariance(size * size), difference(size);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < size; ++k)
      difference[k] = static_cast<double>(samples[i * size + k]) - out.mean[k];
    for (std::size_t r = 0; r < size; ++r) {
      double* const row = covariance.data() + r * size;
      for (std::size_t c = 0; c <= r; ++c) row[c] += difference[r] * difference[c];
    }
  }
  const auto divisor = static_cast<double>(std::max<std::size_t>(count, 2) - 1);
  for (std::size_t r = 0; r < size; ++r)
    for (std::size_t c = 0; c <= r; ++c)
      covariance[c * size + r] = covariance[r * size + c] /= divisor;
  out.eigen = eigen(covariance, static_cast<int>(size));
  return out;
}

/// With few samples, or a part that is flat in all of them, eigenvalues are 0.
/// `most_alike` is the least where samples are all alike.
std::vector<double> floored(const std::vector<double>& values, double floor, double most_alike) {
  double sum = 0;
  for (const double v : values) sum += std::max(v, 0.0);
  const double least = std::max(floor * sum / static_cast<double>(values.size()), most_alike);
  std::vector<double> out = values;
  for (double& v : out) v = std::max(v, least);
  return out;
}

}  // namespace

Texture learn_patch(std::span<const float> samples, std::size_t size, const ShapeOptions& options) {
  const Moments m = moments(samples, size);
  const std::vector<double> values = floored(m.eigen.values, options.floor, 1e-9);
  const std::size_t kept = kept_modes(m.eigen.values, options.patch_variance);
  std::size_t first = options.rows == PatchRows::kResidual ? kept : 0;
  const std::size_t end = options.rows == PatchRows::kKept ? kept : size;
  first = std::min(first, size - 1);  // a subspace of all leaves one
  Texture out;
  // From the smallest eigenvalue up: there a wrong place costs most, so a search ends early.
  for (std::size_t k = end; k-- > first; ++out.rows) {
    const double factor = 1 / std::sqrt(values[k]);
    for (std::size_t i = 0; i < size; ++i)
      out.matrix.push_back(m.eigen.vectors[i * size + k] * factor);
  }
  out.mean = m.mean;
  return out;
}

Texture learn_line(std::span<const float> samples, std::size_t size, double floor) {
  const Moments m = moments(samples, size);
  // Its inverses are a model's numbers, at most kMaxShapeNumber.
  const std::vector<double> values = floored(m.eigen.values, floor, 2 / kMaxShapeNumber);
  Texture out;
  out.mean = m.mean;
  out.rows = size;
  out.matrix.resize(size * size);
  for (std::size_t r = 0; r < size; ++r) {
    for (std::size_t c = 0; c <= r; ++c) {
      double sum = 0;
      for (std::size_t k = 0; k < size; ++k)
        sum += m.eigen.vectors[r * size + k] * m.eigen.vectors[c * size + k] / values[k];
      out.matrix[r * size + c] = out.matrix[c * size + r] = sum;
    }
  }
  return out;
}

}  // namespace cuface::shape
