#include "kernels/shape_training/hats.h"

#include <cmath>

#include "kernels/common/random.h"
#include "kernels/shape_training/face_on_level.h"

namespace cuface::shape {
namespace {

/// Pixels either way by which samples are displaced: what a search sees, and what it may step to.
int displaced_by(const HatRule& rule) { return rule.reach + rule.step; }

}  // namespace

DisplacedSamples HatSampler::sample(const ShapeFaces& faces, std::size_t face,
                                    const ShapeModel& model, int level) {
  DisplacedSamples out;
  FaceOnLevel on_level;
  if (!on_level.make(faces, face, model, level)) return out;
  hats_.set_picture(on_level.picture(), model.hat.patch_at(level));
  const std::span<const ShapePoint> points = on_level.points();
  const std::size_t samples = samples_of_landmark(options_);
  const int most = displaced_by(model.hat);
  const auto places = static_cast<std::size_t>(2 * most + 1);
  std::vector<float> descriptor(static_cast<std::size_t>(model.hat.size()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    // Of one landmark and level all faces have other places.
    const std::uint64_t seed =
        random_at(face * points.size() + i, static_cast<std::uint64_t>(level));
    for (std::size_t s = 0; s < samples; ++s) {
      int x = static_cast<int>(std::lrint(points[i].x)),
          y = static_cast<int>(std::lrint(points[i].y));
      if (s > 0) {
        x += static_cast<int>(random_index(seed, 2 * s, places)) - most;
        y += static_cast<int>(random_index(seed, 2 * s + 1, places)) - most;
      }
      hats_.descriptor(x, y, descriptor);
      out.textures.insert(out.textures.end(), descriptor.begin(), descriptor.end());
      out.targets.push_back(likelihood(options_.target, x - points[i].x, y - points[i].y));
    }
  }
  return out;
}

}  // namespace cuface::shape
