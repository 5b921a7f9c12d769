#include <algorithm>
#include <cmath>

#include "kernels/texture/texture.h"

namespace cuface {
namespace {

std::size_t size_of(int n) { return static_cast<std::size_t>(n); }

}  // namespace

PatchReference::PatchReference(const PatchRule& rule, std::span<const double> numbers)
    : rule_(rule), numbers_(numbers), patch_(size_of(rule.size())) {}

/// What `at` says of the point between four pixels, or of the nearest one.
template <typename At>
double PatchReference::between(const ShapePoint& point, int dx, int dy, At at) const {
  constexpr double kFar = 1e6;
  const double px = std::clamp(point.x, -kFar, kFar), py = std::clamp(point.y, -kFar, kFar);
  if (!rule_.is_bilinear)
    return at(static_cast<int>(std::lrint(px)) + dx, static_cast<int>(std::lrint(py)) + dy);
  const int x = static_cast<int>(std::floor(px)), y = static_cast<int>(std::floor(py));
  const double right = px - x, below = py - y;
  const double first = (1 - right) * at(x + dx, y + dy) + right * at(x + dx + 1, y + dy);
  const double second = (1 - right) * at(x + dx, y + dy + 1) + right * at(x + dx + 1, y + dy + 1);
  return (1 - below) * first + below * second;
}

void PatchReference::set_picture(ImageView<const std::uint8_t> picture, int strongest) {
  pixels_ = {picture};
  strongest_ = std::sqrt(static_cast<double>(strongest));
}

void PatchReference::patch(const ShapePoint& point, int dx, int dy, std::span<double> out) const {
  const int half = rule_.side / 2;
  for (int k = 0; k < rule_.size(); ++k) {
    const texture::PixelGradient kind = rule_.of_plane(k % rule_.planes());
    const double g =
        between(point, dx + k % rule_.side - half, dy + k / rule_.side - half,
                [&](int x, int y) { return texture::pixel_gradient<double>(pixels_, kind, x, y); });
    out[size_of(k)] = g / (std::abs(g) + rule_.q);
  }
}

double PatchReference::edge(const ShapePoint& point, int dx, int dy) const {
  if (!(strongest_ > 0)) return 0;
  const double here = between(point, dx, dy, [this](int x, int y) {
    return std::sqrt(static_cast<double>(texture::sobel_square(pixels_, x, y)));
  });
  return here / strongest_;
}

PatchReference::Cost PatchReference::cost_up_to(double enough, const ShapePoint& point, int dx,
                                                int dy, const PatchModel& model) {
  patch(point, dx, dy, patch_);
  for (std::size_t i = 0; i < patch_.size(); ++i) patch_[i] -= model.mean[i];
  const auto product = [this](const double* row) {
    double sum = 0;
    for (const double difference : patch_) sum += *row++ * difference;
    return sum;
  };
  Cost cost;
  if (model.edge > 0) cost = {model.edge - edge(point, dx, dy), 0, 0, model.base};
  if (model.likelihood) cost.unlikelihood = -product(model.likelihood);
  const double* row = model.matrix;
  for (int r = 0; r < model.rows && !(cost.sum() >= enough); ++r, row += patch_.size()) {
    const double along = product(row);
    cost.distance += along * along;
  }
  return cost;
}

double PatchReference::cost(const ShapePoint& point, int dx, int dy, std::uint32_t first_number) {
  const PatchModel model = PatchModel::at(numbers_.data() + first_number, rule_);
  return cost_up_to(HUGE_VAL, point, dx, dy, model).sum();
}

TextureMatch PatchReference::match(const ShapePoint& point, std::uint32_t first_number) {
  const PatchModel model = PatchModel::at(numbers_.data() + first_number, rule_);
  TextureMatch best{0, 0, kDearest};
  double least = kDearest;
  for (int dy = -rule_.reach; dy <= rule_.reach; dy += rule_.step) {
    for (int dx = -rule_.reach; dx <= rule_.reach; dx += rule_.step) {
      const Cost found = cost_up_to(least, point, dx, dy, model);
      if (!(found.sum() < least)) continue;
      least = found.sum();
      best = {dx, dy, least};
      if (model.likelihood)
        best.cost = found.weight * found.distance + rule_.likelihood * found.unlikelihood;
    }
  }
  return best;
}

}  // namespace cuface
