#include "kernels/boost/feature_bank.h"

#include <initializer_list>
#include <string>

namespace cuface {

enum class FeatureBank::Shape : std::uint8_t {
  kX2,
  kY2,
  kX3,
  kY3,
  kX4,
  kY4,
  kX2Y2,
  kCentre,
  kTiltedX2,
  kTiltedY2,
  kTiltedX3,
  kTiltedY3,
  kTiltedX4,
  kTiltedY4
};

namespace {

HaarFeature of_rects(bool tilted, std::initializer_list<HaarRect> rects) {
  HaarFeature feature;
  feature.tilted = tilted;
  for (const HaarRect& rect : rects) feature.rects[feature.rect_count++] = rect;
  return feature;
}

}  // namespace

Result<FeatureBank> FeatureBank::create(int width, int height, FeatureMode mode,
                                        FeatureWeights weights) {
  for (const int side : {width, height}) {
    if (side >= kMinWindowSide && side <= kMostTrainingSide) continue;
    return Status(StatusCode::kInvalidArgument,
                  "a window of " + std::to_string(width) + "x" + std::to_string(height) +
                      " cannot be trained: its sides may be " + std::to_string(kMinWindowSide) +
                      " to " + std::to_string(kMostTrainingSide));
  }
  FeatureBank bank;
  bank.width_ = width;
  bank.height_ = height;
  bank.mode_ = mode;
  bank.weights_ = weights;
  const bool core = mode != FeatureMode::kBasic, all = mode == FeatureMode::kAll;
  for (int x = 0; x < width; ++x) {
    for (int y = 0; y < height; ++y) {
      for (int dx = 1; dx <= width; ++dx) {
        for (int dy = 1; dy <= height; ++dy) {
          // Upright: so many parts side by side and one above the other.
          const auto upright = [&](Shape shape, int columns, int rows) {
            if (x + dx * columns > width || y + dy * rows > height) return;
            bank.features_.push_back({shape, static_cast<std::uint8_t>(x),
                                      static_cast<std::uint8_t>(y), static_cast<std::uint8_t>(dx),
                                      static_cast<std::uint8_t>(dy)});
          };
          // Tilted: so many parts along the side that goes right and down, and along the other.
          const auto tilted = [&](Shape shape, int right, int left) {
            if (x + right * dx > width || x - left * dy < 0) return;
            if (y + right * dx + left * dy > height) return;
            bank.features_.push_back({shape, static_cast<std::uint8_t>(x),
                                      static_cast<std::uint8_t>(y), static_cast<std::uint8_t>(dx),
                                      static_cast<std::uint8_t>(dy)});
          };
          upright(Shape::kX2, 2, 1);
          upright(Shape::kY2, 1, 2);
          upright(Shape::kX3, 3, 1);
          upright(Shape::kY3, 1, 3);
          if (core) upright(Shape::kX4, 4, 1);
          if (core) upright(Shape::kY4, 1, 4);
          upright(Shape::kX2Y2, 2, 2);
          if (core) upright(Shape::kCentre, 3, 3);
          if (!all) continue;
          tilted(Shape::kTiltedX2, 2, 1);
          tilted(Shape::kTiltedY2, 1, 2);
          tilted(Shape::kTiltedX3, 3, 1);
          tilted(Shape::kTiltedY3, 1, 3);
          tilted(Shape::kTiltedX4, 4, 1);
          tilted(Shape::kTiltedY4, 1, 4);
        }
      }
    }
  }
  return bank;
}

HaarFeature FeatureBank::at(std::size_t index) const {
  const Feature& f = features_[index];
  const int x = f.x, y = f.y, dx = f.dx, dy = f.dy;
  const float middle = weights_ == FeatureWeights::kZeroMean ? 3.0f : 2.0f;
  switch (f.shape) {
    case Shape::kX2:
      return of_rects(false, {{x, y, 2 * dx, dy, -1}, {x + dx, y, dx, dy, 2}});
    case Shape::kY2:
      return of_rects(false, {{x, y, dx, 2 * dy, -1}, {x, y + dy, dx, dy, 2}});
    case Shape::kX3:
      return of_rects(false, {{x, y, 3 * dx, dy, -1}, {x + dx, y, dx, dy, middle}});
    case Shape::kY3:
      return of_rects(false, {{x, y, dx, 3 * dy, -1}, {x, y + dy, dx, dy, middle}});
    case Shape::kX4:
      return of_rects(false, {{x, y, 4 * dx, dy, -1}, {x + dx, y, 2 * dx, dy, 2}});
    case Shape::kY4:
      return of_rects(false, {{x, y, dx, 4 * dy, -1}, {x, y + dy, dx, 2 * dy, 2}});
    case Shape::kX2Y2:
      return of_rects(false,
                      {{x, y, 2 * dx, 2 * dy, -1}, {x, y, dx, dy, 2}, {x + dx, y + dy, dx, dy, 2}});
    case Shape::kCentre:
      return of_rects(false, {{x, y, 3 * dx, 3 * dy, -1}, {x + dx, y + dy, dx, dy, 9}});
    case Shape::kTiltedX2:
      return of_rects(true, {{x, y, 2 * dx, dy, -1}, {x, y, dx, dy, 2}});
    case Shape::kTiltedY2:
      return of_rects(true, {{x, y, dx, 2 * dy, -1}, {x, y, dx, dy, 2}});
    case Shape::kTiltedX3:
      return of_rects(true, {{x, y, 3 * dx, dy, -1}, {x + dx, y + dx, dx, dy, 3}});
    case Shape::kTiltedY3:
      return of_rects(true, {{x, y, dx, 3 * dy, -1}, {x - dy, y + dy, dx, dy, 3}});
    case Shape::kTiltedX4:
      return of_rects(true, {{x, y, 4 * dx, dy, -1}, {x + dx, y + dx, 2 * dx, dy, 2}});
    case Shape::kTiltedY4:
      return of_rects(true, {{x, y, dx, 4 * dy, -1}, {x - dy, y + dy, dx, 2 * dy, 2}});
  }
  return {};
}

}  // namespace cuface
