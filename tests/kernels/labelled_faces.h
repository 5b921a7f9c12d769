// Made-up faces for training: an oval with features at eight points that move, on a noisy ground.
// Further landmarks lie between these.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/grow/grow.h"

namespace cuface::test {

/// Two faces a picture, so that not every picture is another one.
struct MadeUpFaces {
  static constexpr int kSide = 64, kDrawn = 8;

  std::vector<std::vector<std::uint8_t>> pixels;
  std::vector<ImageView<const std::uint8_t>> pictures;
  std::vector<std::uint32_t> picture_of;
  std::vector<Box> boxes;
  std::vector<Point> points;
  std::vector<std::uint8_t> present, weights;

  MadeUpFaces(int count, unsigned seed, int landmarks = kDrawn)
      : landmarks_(landmarks), random_(seed) {
    for (int i = 0; i < count; ++i) {
      if (i % 2 == 0) add_picture();
      add_face(8 + (i % 2) * (kSide + 8));
    }
    for (const auto& picture : pixels)
      pictures.push_back({picture.data(), kWidth, kHeight, kWidth});
  }

  LabelledFaces view() const {
    return {landmarks_, pictures, picture_of, boxes, points, present, weights};
  }

  /// Every seventh point of all is not there, but for those of the first face.
  void hide_some() {
    present.assign(points.size(), 1);
    for (std::size_t i = static_cast<std::size_t>(landmarks_); i < points.size(); ++i)
      present[i] = i % 7 != 0;
  }

 private:
  static constexpr int kWidth = 2 * kSide + 24, kHeight = kSide + 16;

  float uniform(float low, float high) {
    return low + (high - low) * static_cast<float>(random_() >> 8) * 0x1p-24f;
  }

  void add_picture() {
    auto& picture = pixels.emplace_back(static_cast<std::size_t>(kWidth) * kHeight);
    const float ground = uniform(60, 180);
    for (auto& pixel : picture) pixel = static_cast<std::uint8_t>(ground + uniform(-20, 20));
  }

  /// Points are on whole pixels, as dlib has them.
  void add_face(int left) {
    const float shift_x = uniform(-6, 6), shift_y = uniform(-6, 6);
    const float turn = uniform(-0.3f, 0.3f), scale = uniform(0.85f, 1.1f) * kSide;
    const float smile = uniform(-0.05f, 0.08f), yaw = uniform(-0.08f, 0.08f);
    // From the centre, in sides: eyes and their corners, nose, mouth, chin.
    const Point shape[kDrawn] = {{-0.2f + yaw, -0.12f},        {0.2f + yaw, -0.12f},
                                 {-0.3f + yaw, -0.1f},         {0.3f + yaw, -0.1f},
                                 {1.5f * yaw, 0.06f},          {-0.15f + yaw, 0.22f - smile},
                                 {0.15f + yaw, 0.22f - smile}, {yaw, 0.42f + smile}};
    const float depth[kDrawn] = {-70, -70, -40, -40, 60, -55, -55, 45};
    const float cx = static_cast<float>(left) + kSide / 2.0f + shift_x;
    const float cy = 8 + kSide / 2.0f + shift_y;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = left - 4; x < left + kSide + 4; ++x) {
        const float u = (static_cast<float>(x) - cx) / (0.4f * scale);
        const float v = (static_cast<float>(y) - cy) / (0.5f * scale);
        if (u * u + v * v < 1) change(x, y, 30 + 40 * u);
      }
    }
    for (int i = 0; i < kDrawn; ++i) {
      const float x = shape[i].x * std::cos(turn) - shape[i].y * std::sin(turn);
      const float y = shape[i].x * std::sin(turn) + shape[i].y * std::cos(turn);
      const Point p{std::round(cx + x * scale), std::round(cy + y * scale)};
      points.push_back(p);
      for (int dy = -5; dy <= 5; ++dy)
        for (int dx = -5; dx <= 5; ++dx)
          change(static_cast<int>(p.x) + dx, static_cast<int>(p.y) + dy,
                 depth[i] * std::exp(-static_cast<float>(dx * dx + dy * dy) / 8));
    }
    const std::size_t first = points.size() - kDrawn;
    for (std::size_t i = kDrawn; i < static_cast<std::size_t>(landmarks_); ++i) {
      const Point a = points[first + i % kDrawn], b = points[first + (i * 3 + 1) % kDrawn];
      const float part = static_cast<float>(i) / static_cast<float>(landmarks_);
      points.push_back(
          {std::round(a.x + part * (b.x - a.x)), std::round(a.y + part * (b.y - a.y))});
    }
    points.resize(first + static_cast<std::size_t>(landmarks_));
    boxes.push_back({static_cast<float>(left), 8, kSide, kSide});
    picture_of.push_back(static_cast<std::uint32_t>(pixels.size() - 1));
  }

  void change(int x, int y, float by) {
    if (x < 0 || y < 0 || x >= kWidth || y >= kHeight) return;
    auto& pixel = pixels.back()[static_cast<std::size_t>(y * kWidth + x)];
    pixel = static_cast<std::uint8_t>(std::clamp(static_cast<float>(pixel) + by, 0.0f, 255.0f));
  }

  int landmarks_;
  std::mt19937 random_;
};

/// All tables of a forest.
inline std::string bytes_of(const GrownForest& forest) {
  std::string bytes;
  const auto add = [&](const auto& values) {
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]);
  };
  add(forest.mean_shape);
  add(forest.anchors);
  add(forest.deltas);
  add(forest.splits);
  add(forest.leaves);
  add(forest.spreads);
  return bytes;
}

/// Mean distance of the points that a model finds from the labelled ones, in box sides. NaN where
/// it finds none.
inline double mean_error(const std::shared_ptr<const ForestModel>& model,
                         const LabelledFaces& faces) {
  const auto landmarker = Landmarker::create(Backend::kCpu, model);
  if (!landmarker.ok()) return NAN;
  const auto landmarks = static_cast<std::size_t>(faces.landmarks);
  std::vector<Point> found(landmarks);
  double sum = 0;
  for (std::size_t face = 0; face < faces.count(); ++face) {
    const auto& picture = faces.pictures[faces.picture_of[face]];
    if (!landmarker.value()->enqueue(picture, faces.boxes.subspan(face, 1), found).ok()) return NAN;
    for (std::size_t i = 0; i < landmarks; ++i) {
      const Point truth = faces.points[face * landmarks + i];
      sum += std::hypot(found[i].x - truth.x, found[i].y - truth.y) / faces.boxes[face].w;
    }
  }
  return sum / static_cast<double>(faces.points.size());
}

}  // namespace cuface::test
