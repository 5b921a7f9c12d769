#include "kernels/shape_training/patches.h"

#include <algorithm>

#include "kernels/common/random.h"
#include "kernels/shape_training/face_on_level.h"

namespace cuface::shape {
namespace {

/// A search compares places of one face: what all places of a face have in common tells nothing.
void centre(std::span<float> numbers, std::size_t size) {
  const auto count = static_cast<float>(numbers.size() / size);
  for (std::size_t k = 0; k < size; ++k) {
    float sum = 0;
    for (std::size_t i = k; i < numbers.size(); i += size) sum += numbers[i];
    for (std::size_t i = k; i < numbers.size(); i += size) numbers[i] -= sum / count;
  }
}

}  // namespace

DisplacedSamples PatchSampler::sample(const ShapeFaces& faces, std::size_t face,
                                      const ShapeModel& model, int level) const {
  DisplacedSamples out;
  FaceOnLevel on_level;
  if (!on_level.make(faces, face, model, level)) return out;
  PatchReference patches(options_.patch, {});
  patches.set_picture(on_level.picture(), 0);
  const std::span<const ShapePoint> points = on_level.points();
  const std::size_t samples = samples_of_landmark(options_);
  const auto size = static_cast<std::size_t>(options_.patch.size());
  // What a search sees that stands a little farther off than it reaches.
  const double most = 3 * std::max(options_.patch.reach, 1);
  constexpr std::size_t kPlaces = 2001;  // in a row, between pixels too
  const auto displacement = [&](std::uint64_t seed, std::uint64_t number) {
    return (static_cast<double>(random_index(seed, number, kPlaces)) / (kPlaces / 2) - 1) * most;
  };
  std::vector<double> patch(size);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::uint64_t seed =
        random_at(face * points.size() + i, static_cast<std::uint64_t>(level));
    for (std::size_t s = 0; s < samples; ++s) {
      const double dx = s > 0 ? displacement(seed, 2 * s) : 0;
      const double dy = s > 0 ? displacement(seed, 2 * s + 1) : 0;
      patches.patch({points[i].x + dx, points[i].y + dy}, 0, 0, patch);
      for (const double value : patch) out.textures.push_back(static_cast<float>(value));
      out.targets.push_back(likelihood(options_.target, dx, dy));
    }
    centre(std::span(out.textures).last(samples * size), size);
    centre(std::span(out.targets).last(samples), 1);
  }
  return out;
}

void add_likelihood(std::span<const double> coefficients, double weight, std::size_t size,
                    Texture& texture) {
  std::vector<double>& to = texture.likelihood;
  to.assign(size, 0);
  const auto usable = [](double v) { return std::clamp(v, -kMaxShapeNumber, kMaxShapeNumber); };
  std::ranges::transform(coefficients, to.begin(), [&](double c) { return usable(weight * c); });
  // A row is a direction over the root of its variance. Along it the distance is y^2 and the
  // likelihood y times its product with the row over the row's square.
  double base = 0;
  for (std::size_t r = 0; r < texture.rows; ++r) {
    const double* const row = texture.matrix.data() + r * size;
    double along = 0, square = 0;
    for (std::size_t k = 0; k < size; ++k) {
      along += row[k] * to[k];
      square += row[k] * row[k];
    }
    const double half = along / square / 2;
    base += half * half;
  }
  to.push_back(usable(base));
}

}  // namespace cuface::shape
