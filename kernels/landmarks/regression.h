// The steps of one regression, which all versions share: the reference, the CPU's and CUDA's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/landmarks/landmarks.h"

namespace cuface::forest {

/// True for a box that can hold a face: finite, and not empty.
CUFACE_HD inline bool is_usable(const Box& box) {
  // Infinities and NaN less themselves are NaN.
  return box.x - box.x == 0 && box.y - box.y == 0 && box.w - box.w == 0 && box.h - box.h == 0 &&
         box.w > 0 && box.h > 0;
}

/// The 2x2 part [a -b; b a] of the similarity that best carries the mean shape onto another: fitted
/// in double, cast to float once. dlib takes it from a singular value decomposition; this is the
/// same minimum in closed form.
struct ScaledRotation {
  float a = 1, b = 0;

  /// Where the feature pixel lies that hangs on a landmark by `delta`.
  CUFACE_HD Point place(Point landmark, Point delta) const {
    return {(a * delta.x - b * delta.y) + landmark.x, (b * delta.x + a * delta.y) + landmark.y};
  }
};

/// What a landmark counts in a ScaledRotation: where it lies in the mean shape, seen from its
/// centre, over the sum of the squares of all. The levers add up to zero, so a shape's own centre
/// need not be known.
struct Lever {
  double x, y;

  CUFACE_HD double along(Point p) const { return x * p.x + y * p.y; }
  CUFACE_HD Lever quarter_turn() const { return {-y, x}; }
};

/// a is the sum of along(), b that of their quarter turns. Each is added up in so many parts, which
/// lanes can share: part k takes landmarks k, k + kFitParts, ... in turn, beginning at 0. Then
/// halves are added: part k and part k + 8, those sums 4 apart, 2, 1.
inline constexpr int kFitParts = 16;

/// a or b of a ScaledRotation from its sum. NaN and infinity, which a shape that is not finite
/// brings to both sums and a mean shape without extent to its levers, become the ScaledRotation
/// that does nothing.
CUFACE_HD inline float coefficient_from(double sum, float otherwise) {
  return sum - sum == 0 ? static_cast<float>(sum) : otherwise;
}

inline ScaledRotation fit_scaled_rotation(std::span<const Lever> levers,
                                          std::span<const Point> shape) {
  double a[kFitParts] = {}, b[kFitParts] = {};
  const std::size_t n = levers.size();
  for (std::size_t first = 0; first < n; first += kFitParts) {
    const std::size_t count = std::min<std::size_t>(n - first, kFitParts);
    for (std::size_t k = 0; k < count; ++k) {
      const Lever lever = levers[first + k];
      a[k] += lever.along(shape[first + k]);
      b[k] += lever.quarter_turn().along(shape[first + k]);
    }
  }
  for (int apart = kFitParts / 2; apart > 0; apart /= 2) {
    for (int k = 0; k < apart; ++k) {
      a[k] += a[k + apart];
      b[k] += b[k + apart];
    }
  }
  return {coefficient_from(a[0], ScaledRotation{}.a), coefficient_from(b[0], ScaledRotation{}.b)};
}

/// The levers of a mean shape. NaN where it has no extent: a landmark alone, or all in one place.
std::vector<Lever> levers_of(std::span<const Point> mean);

/// One face's pixels: nearest pixel, 0 outside the picture [S0.25].
struct PixelReader {
  ImageView<const std::uint8_t> luma;
  // From the unit box to the picture: (xx xy; yx yy) p + (x, y). Sizes are dlib's, inclusive.
  double xx, xy = 0, yx = 0, yy, x, y;

  CUFACE_HD PixelReader(ImageView<const std::uint8_t> picture, const Box& box, Roll roll = {})
      : luma(picture),
        xx(static_cast<double>(box.w) - 1.0),
        yy(static_cast<double>(box.h) - 1.0),
        x(box.x),
        y(box.y) {
    if (roll.sin == 0 && roll.cos == 1) return;  // the corner keeps its bits
    const double width = xx, height = yy, c = roll.cos, s = roll.sin;
    xx = c * width;
    xy = -s * height;
    yx = s * width;
    yy = c * height;
    x += (width - xx - xy) / 2;
    y += (height - yx - yy) / 2;
  }

  /// At p in the unit box. The test comes before the cast, so NaN and huge values read 0;
  /// truncation is floor() here.
  CUFACE_HD std::uint8_t at(Point p) const {
    const double u = p.x, v = p.y;
    const double px = (xx * u + xy * v) + x + 0.5;
    const double py = (yx * u + yy * v) + y + 0.5;
    // Without a branch, so that a GPU's thread has several pixels on their way.
    const bool inside = (px >= 0) & (px < luma.width) & (py >= 0) & (py < luma.height);
    const std::uint8_t pixel =
        luma.at(inside ? static_cast<int>(px) : 0, inside ? static_cast<int>(py) : 0);
    return inside ? pixel : std::uint8_t{0};
  }

  CUFACE_HD Point to_picture(Point p) const {
    const double u = p.x, v = p.y;
    return {static_cast<float>((xx * u + xy * v) + x), static_cast<float>((yx * u + yy * v) + y)};
  }
};

/// The feature pixels of a regression stage, at a shape. Anchors and deltas as ForestModel has
/// them.
template <typename Pixel>
void read_pool(const PixelReader& pixels, std::span<const Lever> levers,
               std::span<const Point> shape, std::span<const std::uint32_t> anchors,
               const float* deltas, Pixel* pool) {
  const ScaledRotation rotation = fit_scaled_rotation(levers, shape);
  for (std::size_t i = 0; i < anchors.size(); ++i)
    pool[i] = pixels.at(rotation.place(shape[anchors[i]], {deltas[2 * i], deltas[2 * i + 1]}));
}

/// The threshold as an integer that compares alike with every difference of two pixels, which are
/// integers from 0 to 255.
inline std::int32_t whole_threshold(float threshold) {
  return static_cast<std::int32_t>(std::clamp(std::floor(threshold), -256.0f, 255.0f));
}

/// A split in 31 bits, for models of at most kMaxPool feature pixels.
struct PackedSplit {
  static constexpr int kMaxPool = 2048;
  std::uint32_t bits;

  static PackedSplit of(std::uint32_t a, std::uint32_t b, float threshold) {
    return {a << 20 | b << 9 | static_cast<std::uint32_t>(whole_threshold(threshold) + 256)};
  }
  struct Fields {
    std::uint32_t a, b;
    std::int32_t threshold;
  };
  CUFACE_HD Fields fields() const {
    return {bits >> 20, bits >> 9 & (kMaxPool - 1), static_cast<std::int32_t>(bits & 511) - 256};
  }
};

/// The leaf of one tree, 0 .. 2^depth - 1; splits[node] is a split.
template <typename Splits, typename Pixel>
CUFACE_HD std::uint32_t walk_tree(const Splits& splits, int depth, const Pixel* pool) {
  std::uint32_t node = 0;
  for (int level = 0; level < depth; ++level) {
    const auto split = splits[node];
    const bool left = pool[split.a] - pool[split.b] > split.threshold;
    node = 2 * node + (left ? 1 : 2);
  }
  return node - ((1u << depth) - 1);
}

/// What the setting `iterations` means to a model of so many stages: 0 = all, and so is more than
/// it has, because a setting must not depend on the model. kInvalidArgument below 0.
inline Result<int> cascades_to_run(int iterations, int stages) {
  if (iterations < 0) {
    return Status(StatusCode::kInvalidArgument,
                  "iterations must be 0 (all) or more, not " + std::to_string(iterations));
  }
  return iterations == 0 ? stages : std::min(iterations, stages);
}

}  // namespace cuface::forest
