#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/texture/texture.h"

namespace cuface {
namespace {

constexpr int kDifferences = 511;  // of two pixels

std::size_t size_of(int n) { return static_cast<std::size_t>(n); }

}  // namespace

int HatRule::patch_at(int level) const {
  return patch + 2 * static_cast<int>(std::lrint(level * patch_change / 2.0));
}

HatReference::HatReference(const HatRule& rule, std::span<const double> numbers)
    : rule_(rule), numbers_(numbers), descriptor_(size_of(rule.size())) {
  turns_.resize(size_of(kDifferences) * kDifferences);
  const double bins_per_degree = rule.bins / 360.0;
  double* out = turns_.data();
  for (int dy = -255; dy <= 255; ++dy) {
    for (int dx = -255; dx <= 255; ++dx) {
      double degrees = 180 * std::atan2(dy, dx) / std::numbers::pi;
      if (degrees < 0) degrees += 360;
      *out++ = degrees * bins_per_degree;
    }
  }
  // A row and a column of histograms around the grid, and a bin after the last: nothing is asked
  // while pixels are shared out.
  histograms_.resize(size_of(rule.rows + 2) * size_of(rule.columns + 2) * size_of(rule.bins + 1));
}

void HatReference::set_patch(int patch) {
  patch_ = patch;
  shares_.clear();
  const int half = patch / 2;
  const double rows_per_pixel = rule_.rows / (patch - 1.0);
  const double columns_per_pixel = rule_.columns / (patch - 1.0);
  const double first_row = rule_.rows / 2.0 - 0.5, first_column = rule_.columns / 2.0 - 0.5;
  const double weight = -1 / (rule_.sigma * rule_.rows * rule_.columns);
  for (int y = -half; y <= half; ++y) {
    const double down = y * rows_per_pixel;
    for (int x = -half; x <= half; ++x) {
      const double right = x * columns_per_pixel;
      const double row = down + first_row, column = right + first_column;
      const int whole_row = static_cast<int>(std::floor(row));
      const int whole_column = static_cast<int>(std::floor(column));
      shares_.push_back({whole_row, whole_column, row - whole_row, column - whole_column,
                         std::exp(weight * (down * down + right * right))});
    }
  }
}

void HatReference::set_picture(ImageView<const std::uint8_t> picture, int patch) {
  if (patch != patch_) set_patch(patch);
  width_ = picture.width;
  height_ = picture.height;
  // The last row and column have no gradient.
  magnitudes_.assign(size_of(width_) * size_of(height_), 0.0);
  directions_.assign(magnitudes_.size(), 0.0);
  for (int y = 0; y + 1 < height_; ++y) {
    const std::uint8_t *row = picture.row(y), *below = picture.row(y + 1);
    const std::size_t start = size_of(y) * size_of(width_);
    for (int x = 0; x + 1 < width_; ++x) {
      const int dx = row[x + 1] - row[x], dy = below[x] - row[x];
      magnitudes_[start + size_of(x)] = std::sqrt(static_cast<double>(dx * dx + dy * dy));
      directions_[start + size_of(x)] = turns_[size_of((dy + 255) * kDifferences + dx + 255)];
    }
  }
}

void HatReference::describe(int x, int y, std::span<double> out) {
  std::fill(histograms_.begin(), histograms_.end(), 0.0);
  const int bins = rule_.bins, half = patch_ / 2;
  const std::ptrdiff_t next_column = bins + 1, next_row = (rule_.columns + 2) * next_column;
  const Share* share = shares_.data();
  for (int v = y - half; v <= y + half; ++v) {
    for (int u = x - half; u <= x + half; ++u, ++share) {
      if (v < 0 || v >= height_ || u < 0 || u >= width_) continue;  // it adds zeros
      const std::size_t at = size_of(v) * size_of(width_) + size_of(u);
      const double magnitude = share->weight * magnitudes_[at], direction = directions_[at];
      const int bin = static_cast<int>(std::floor(direction));
      const double to_next = direction - bin;
      double* const b = histograms_.data() + (share->row + 1) * next_row +
                        (share->column + 1) * next_column + bin;
      const double a1 = magnitude * share->to_next_row, a0 = magnitude - a1;
      const double a11 = a1 * share->to_next_column, a10 = a1 - a11;
      const double a01 = a0 * share->to_next_column, a00 = a0 - a01;
      const double a111 = a11 * to_next, a101 = a10 * to_next;
      const double a011 = a01 * to_next, a001 = a00 * to_next;
      b[0] += a00 - a001;
      b[1] += a001;
      b[next_column] += a01 - a011;
      b[next_column + 1] += a011;
      b[next_row] += a10 - a101;
      b[next_row + 1] += a101;
      b[next_row + next_column] += a11 - a111;
      b[next_row + next_column + 1] += a111;
    }
  }
  double* to = out.data();
  for (int row = 0; row < rule_.rows; ++row) {
    for (int column = 0; column < rule_.columns; ++column, to += bins) {
      double* const b = histograms_.data() + (row + 1) * next_row + (column + 1) * next_column;
      b[0] += b[bins];  // a full turn is none
      for (int i = 0; i < bins; ++i) to[i] = std::sqrt(b[i]);
    }
  }
  double squares = 0;
  std::size_t i = 0;
  for (; i + 4 <= out.size(); i += 4) {
    squares += out[i] * out[i] + out[i + 1] * out[i + 1] + out[i + 2] * out[i + 2] +
               out[i + 3] * out[i + 3];
  }
  for (; i < out.size(); ++i) squares += out[i] * out[i];
  const double norm = std::sqrt(squares);
  if (norm < 1e-7) return;
  const double scale = rule_.length / norm;
  for (double& value : out) value *= scale;
}

double HatReference::cost(int x, int y, std::uint32_t first_number) {
  describe(x, y, descriptor_);
  return linear_cost(numbers_.data() + first_number, descriptor_);
}

double linear_cost(const double* model, std::span<const double> descriptor) {
  const double *d = descriptor.data(), *c = model + 1;
  const std::size_t n = descriptor.size();
  double sum = model[0];
  std::size_t i = 0;
  for (; i + 4 < n; i += 4) {
    sum += c[i] * d[i] + c[i + 1] * d[i + 1] + c[i + 2] * d[i + 2] + c[i + 3] * d[i + 3];
  }
  for (; i < n; ++i) sum += c[i] * d[i];
  return sum;
}

}  // namespace cuface
