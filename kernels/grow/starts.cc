#include "kernels/grow/starts.h"

#include <algorithm>
#include <limits>

namespace cuface::grow {
namespace {

/// The point in the unit box, whose corners dlib's inclusive rectangle has.
Point in_unit_box(const Box& box, Point p) {
  return {static_cast<float>((p.x - static_cast<double>(box.x)) / (box.w - 1.0)),
          static_cast<float>((p.y - static_cast<double>(box.y)) / (box.h - 1.0))};
}

/// A sum of shapes, each landmark over the weights of those shapes that have it.
class ShapeSum {
 public:
  explicit ShapeSum(const LabelledFaces& faces)
      : faces_(faces),
        size_(2 * static_cast<std::size_t>(faces.landmarks)),
        sums_(size_),
        hits_(size_) {}

  void clear() {
    std::fill(sums_.begin(), sums_.end(), 0.0f);
    std::fill(hits_.begin(), hits_.end(), 0.0f);
  }

  void add(std::span<const float> targets, std::size_t face, float weight) {
    const float* const target = targets.data() + face * size_;
    for (std::size_t k = 0; k < size_; ++k) {
      sums_[k] += weight * target[k];
      if (is_present(faces_, face, k / 2)) hits_[k] += weight;
    }
  }

  bool is_complete() const { return *std::min_element(hits_.begin(), hits_.end()) > 0; }

  void mean(float* shape) const {
    for (std::size_t k = 0; k < size_; ++k) shape[k] = sums_[k] * reciprocal(hits_[k]);
  }

 private:
  const LabelledFaces& faces_;
  std::size_t size_;
  std::vector<float> sums_, hits_;
};

}  // namespace

Starts make_starts(const LabelledFaces& faces, const ForestOptions& options, Draws& draws) {
  const auto landmarks = static_cast<std::size_t>(faces.landmarks);
  const std::size_t size = 2 * landmarks;
  const auto amount = static_cast<std::size_t>(options.oversampling_amount);
  Starts starts;
  starts.mean.resize(size);
  starts.targets.resize(faces.count() * size);
  starts.shapes.resize(faces.count() * amount * size);
  ShapeSum sum(faces);
  for (std::size_t face = 0; face < faces.count(); ++face) {
    for (std::size_t i = 0; i < landmarks; ++i) {
      if (!is_present(faces, face, i)) continue;
      const Point p = in_unit_box(faces.boxes[face], faces.points[face * landmarks + i]);
      starts.targets[face * size + 2 * i] = p.x;
      starts.targets[face * size + 2 * i + 1] = p.y;
    }
    sum.add(starts.targets, face, static_cast<float>(weight_of(faces, face)));
  }
  sum.mean(starts.mean.data());

  for (std::size_t sample = 0; sample < faces.count() * amount; ++sample) {
    float* const shape = starts.shapes.data() + sample * size;
    if (sample % amount == 0) {  // regression begins with it
      std::copy(starts.mean.begin(), starts.mean.end(), shape);
      continue;
    }
    sum.clear();
    for (std::size_t i = 0; i < 2 || !sum.is_complete(); ++i) {
      const Draws::Part part = draws.part(sample, i);
      sum.add(starts.targets, part.face, static_cast<float>(part.weight));
    }
    sum.mean(shape);
    const double most = options.oversampling_translation_jitter;
    if (most == 0) continue;
    const Draws::Place place = draws.jitter(sample);
    for (std::size_t k = 0; k < size; ++k) {
      const double shift = (k % 2 == 0 ? place.x : place.y) * (2 * most) - most;
      shape[k] = static_cast<float>(shape[k] + shift);
    }
  }
  return starts;
}

std::vector<Point> draw_pixels(std::span<const float> mean, const ForestOptions& options,
                               Draws& draws) {
  double low[2], high[2];
  for (std::size_t axis = 0; axis < 2; ++axis) {
    low[axis] = high[axis] = mean[axis];
    for (std::size_t k = axis; k < mean.size(); k += 2) {
      low[axis] = std::min<double>(low[axis], mean[k]);
      high[axis] = std::max<double>(high[axis], mean[k]);
    }
    if (options.padding_mode == PaddingMode::kBoundingBoxRelative) {
      low[axis] = std::min(low[axis], 0.0);
      high[axis] = std::max(high[axis], 1.0);
    }
    low[axis] -= options.feature_pool_region_padding;
    high[axis] += options.feature_pool_region_padding;
  }
  std::vector<Point> pixels;
  for (int stage = 0; stage < options.cascade_depth; ++stage) {
    for (int i = 0; i < options.feature_pool_size; ++i) {
      const Draws::Place at = draws.pixel(stage, i);
      pixels.push_back({static_cast<float>(at.x * (high[0] - low[0]) + low[0]),
                        static_cast<float>(at.y * (high[1] - low[1]) + low[1])});
    }
  }
  return pixels;
}

void anchor_pixels(std::span<const float> mean, std::span<const Point> pixels,
                   std::vector<std::uint32_t>& anchors, std::vector<float>& deltas) {
  for (const Point p : pixels) {
    float least = std::numeric_limits<float>::infinity();
    std::size_t nearest = 0;
    for (std::size_t i = 0; i < mean.size() / 2; ++i) {
      const float x = mean[2 * i] - p.x, y = mean[2 * i + 1] - p.y;
      const float apart = x * x + y * y;
      if (!(apart < least)) continue;
      least = apart;
      nearest = i;
    }
    anchors.push_back(static_cast<std::uint32_t>(nearest));
    deltas.push_back(p.x - mean[2 * nearest]);
    deltas.push_back(p.y - mean[2 * nearest + 1]);
  }
}

}  // namespace cuface::grow
