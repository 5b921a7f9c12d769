// Uses a loaded model once, as an element would: what passed the loaders' checks must work.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "kernels/detect/detect.h"
#include "kernels/landmarks/landmarks.h"
#include "kernels/network/network.h"
#include "kernels/shape/search.h"
#include "models/box_map.h"

namespace cuface::test {

/// A picture that wakes up features: noise, the same in every run.
inline std::vector<std::uint8_t> noise_pixels(int width, int height) {
  std::mt19937 random(1);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width) *
                                   static_cast<std::size_t>(height));
  for (std::uint8_t& p : pixels) p = static_cast<std::uint8_t>(random());
  return pixels;
}

/// False when a call fails that must not.
inline bool use(const std::shared_ptr<const CascadeModel>& model) {
  constexpr int kWidth = 72, kHeight = 56;
  static const std::vector<std::uint8_t> pixels = noise_pixels(kWidth, kHeight);
  for (const ScaleMode mode : {ScaleMode::kPyramid, ScaleMode::kWindow}) {
    DetectConfig config;
    config.scale_mode = mode;
    config.scale_factor = 1.4;
    auto detector = Detector::create(Backend::kCpu, model, config, kWidth, kHeight);
    DetectResult result;
    if (!detector.ok() ||
        !detector.value()->enqueue({pixels.data(), kWidth, kHeight, kWidth}, result).ok()) {
      return false;
    }
  }
  return true;
}

inline bool use(const std::shared_ptr<const ForestModel>& model) {
  constexpr int kSide = 64;
  static const std::vector<std::uint8_t> pixels = noise_pixels(kSide, kSide);
  auto landmarker = Landmarker::create(Backend::kCpu, model);
  if (!landmarker.ok()) return false;
  const Box face = box_map_for(*model, "haarcascade_frontalface_alt").apply({10, 12, 40, 40});
  std::vector<Point> points(static_cast<std::size_t>(model->landmarks));
  // The map of a hostile file may give a box that cannot be used; then enqueue says so.
  (void)landmarker.value()->enqueue({pixels.data(), kSide, kSide, kSide}, {&face, 1}, points);
  (void)box_from_landmarks(*model, points);
  return true;
}

inline bool use(const std::shared_ptr<const NetworkModel>& model) {
  constexpr int kWidth = 40, kHeight = 33;
  static const std::vector<std::uint8_t> pixels = noise_pixels(3 * kWidth, kHeight);
  auto network = FaceNetwork::create(Backend::kCpu, model, {}, kWidth, kHeight);
  std::vector<NetworkFace> faces;
  return network.ok() &&
         network.value()
             ->enqueue({reinterpret_cast<const Bgr*>(pixels.data()), kWidth, kHeight, 3 * kWidth},
                       faces)
             .ok();
}

inline bool use(const std::shared_ptr<const ShapeModel>& model) {
  constexpr int kSide = 64;
  static const std::vector<std::uint8_t> pixels = noise_pixels(kSide, kSide);
  auto searcher = ShapeSearcher::create(Backend::kCpu, model);
  const Box face{10, 12, 40, 40};
  std::vector<Point> points(static_cast<std::size_t>(model->points));
  return searcher.ok() &&
         searcher.value()->enqueue({pixels.data(), kSide, kSide, kSide}, {&face, 1}, points).ok();
}

}  // namespace cuface::test
