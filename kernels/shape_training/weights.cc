#include "kernels/shape_training/weights.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/common/random.h"
#include "kernels/common/try.h"
#include "kernels/shape/search.h"
#include "kernels/shape_training/eigen.h"
#include "kernels/shape_training/face_on_level.h"

namespace cuface::shape {

namespace {

constexpr int kSearches = 2;  // of a landmark in a face

/// Of one face on one level: by how much searches that start beside a landmark miss it, squares of
/// pixels added up, [landmarks]. Empty: the face has no such level.
std::vector<double> misses_of(const ShapeFaces& faces, std::size_t face, const ShapeModel& model,
                              int level, PatchMatcher& matcher) {
  constexpr std::size_t kPlaces = 2001;  // in a row, between pixels too
  FaceOnLevel on_level;
  if (!on_level.make(faces, face, model, level)) return {};
  matcher.set_picture(on_level.picture(), texture::strongest_sobel_square({on_level.picture()}));
  const std::span<const ShapePoint> points = on_level.points();
  std::vector<double> out(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    // Other places than those that a likelihood is learnt from.
    const std::uint64_t seed =
        random_at(face * points.size() + i, static_cast<std::uint64_t>(kMaxShapeLevels + level));
    const auto displacement = [&](std::uint64_t number) {
      const auto place = static_cast<double>(random_index(seed, number, kPlaces));
      return (place / (kPlaces / 2) - 1) * model.patch.reach;
    };
    for (std::uint64_t s = 0; s < kSearches; ++s) {
      const double dx = displacement(2 * s), dy = displacement(2 * s + 1);
      const TextureMatch match =
          matcher.match({points[i].x + dx, points[i].y + dy},
                        model.profile(level, static_cast<int>(i)).first_number);
      const double x = dx + match.dx, y = dy + match.dy;
      out[i] += x * x + y * y;
    }
  }
  return out;
}

}  // namespace

Result<std::vector<double>> point_weights(const ShapeFaces& faces, const ShapeModel& model,
                                          double inside, int workers, const Each& each) {
  const auto landmarks = static_cast<std::size_t>(faces.landmarks);
  const std::size_t count = faces.boxes.size();
  const auto matchers = patch_matchers(model, ShapeArithmetic::kFloat, workers);
  std::vector<double> out(landmarks);
  for (int level = 0; level < model.levels; ++level) {
    const auto used = used_landmarks(faces, model, level, model.patch.side, inside);
    std::vector<std::vector<double>> misses(count);
    CUFACE_TRY(each(count, [&](std::size_t face, std::size_t worker) {
      misses[face] = misses_of(faces, face, model, level, *matchers[worker]);
    }));
    for (std::size_t i = 0; i < landmarks; ++i) {
      double sum = 0, searches = 0;
      for (std::size_t face = 0; face < count; ++face) {
        if (!used[face * landmarks + i] || misses[face].empty()) continue;
        sum += misses[face][i];
        searches += kSearches;
      }
      out[i] += sum / std::max(searches, 1.0);
    }
  }
  const double least = *std::ranges::min_element(out);
  for (double& v : out) v = v > 0 ? least / v : 1;
  return out;
}

void turn_modes(std::span<const double> weights, std::vector<double>& values,
                std::vector<double>& vectors) {
  // A shape is `spread` times independent numbers of variance 1. So it is after turning these.
  const std::size_t modes = values.size(), rows = vectors.size() / modes;
  std::vector<double> spread(vectors), products(modes * modes);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t k = 0; k < modes; ++k) spread[r * modes + k] *= std::sqrt(values[k]);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t a = 0; a < modes; ++a)
      for (std::size_t b = 0; b < modes; ++b)
        products[a * modes + b] += weights[r / 2] * spread[r * modes + a] * spread[r * modes + b];
  const Eigen turned = eigen(products, static_cast<int>(modes));
  for (std::size_t k = 0; k < modes; ++k) {
    values[k] = std::max(turned.values[k], 0.0);
    const double by = values[k] > 0 ? 1 / std::sqrt(values[k]) : 0;
    for (std::size_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (std::size_t j = 0; j < modes; ++j)
        sum += spread[r * modes + j] * turned.vectors[j * modes + k];
      vectors[r * modes + k] = by * sum;
    }
  }
}

}  // namespace cuface::shape
