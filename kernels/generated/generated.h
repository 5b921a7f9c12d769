// generated: backgrounds out of nothing but a seed, for training: noise in octaves with shapes over
// it. Each pixel is a function of the seed, the picture's number and its place, in integers: the
// same bytes on every processor, and no order of work shows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/common/random.h"

namespace cuface {

inline constexpr int kGeneratedWidth = 640, kGeneratedHeight = 480;

/// The parts of a generated picture. Lengths in pixels.
struct GeneratedScene {
  static constexpr int kOctaves = 6, kMostShapes = 32;

  enum class Kind : std::uint8_t { kBox, kOval, kStripes };
  struct Shape {
    Kind kind;
    int x, y;            ///< its middle
    int half_w, half_h;  ///< at least 1
    int period;          ///< of stripes
    int slant;           ///< of their direction: 16 = 45 degrees
    int grey, opacity;   ///< 0..255
  };

  std::uint64_t seed;
  int brightness;         ///< the middle of the noise
  int octaves[kOctaves];  ///< how strong each is; the first has periods of 256 pixels
  int shapes;
  Shape shape[kMostShapes];
};

CUFACE_HD inline GeneratedScene generated_scene(std::uint64_t seed, std::uint64_t picture) {
  GeneratedScene s{};
  s.seed = random_at(seed, picture);
  std::uint64_t at = 0;
  const auto draw = [&](int low, int high) {
    return low +
           static_cast<int>(random_index(s.seed, at++, static_cast<std::size_t>(high - low + 1)));
  };
  s.brightness = draw(40, 215);
  for (int& octave : s.octaves) octave = draw(0, 3) == 0 ? 0 : draw(4, 120);
  s.shapes = draw(0, GeneratedScene::kMostShapes);
  for (int i = 0; i < s.shapes; ++i) {
    GeneratedScene::Shape& shape = s.shape[i];
    shape.kind = static_cast<GeneratedScene::Kind>(draw(0, 2));
    shape.x = draw(0, kGeneratedWidth);
    shape.y = draw(0, kGeneratedHeight);
    const int largest = 4 << draw(0, 6);
    shape.half_w = draw(1, largest);
    shape.half_h = draw(1, largest);
    shape.period = draw(2, 48);
    shape.slant = draw(-32, 32);
    shape.grey = draw(0, 255);
    shape.opacity = draw(64, 255);
  }
  return s;
}

/// -128..127 at the corner of a cell of an octave's grid.
CUFACE_HD inline int noise_corner(const GeneratedScene& s, int octave, int x, int y) {
  const std::uint64_t at = (static_cast<std::uint64_t>(octave) << 48) |
                           (static_cast<std::uint64_t>(x) << 24) | static_cast<std::uint64_t>(y);
  return static_cast<int>(random_at(s.seed ^ 0x5bd1e995u, at) >> 56) - 128;
}

CUFACE_HD inline int octave_noise(const GeneratedScene& s, int octave, int x, int y) {
  const int period = 256 >> octave;
  const int cx = x / period, cy = y / period, fx = x % period, fy = y % period;
  const int top =
      noise_corner(s, octave, cx, cy) * (period - fx) + noise_corner(s, octave, cx + 1, cy) * fx;
  const int bottom = noise_corner(s, octave, cx, cy + 1) * (period - fx) +
                     noise_corner(s, octave, cx + 1, cy + 1) * fx;
  return (top * (period - fy) + bottom * fy) / (period * period);
}

CUFACE_HD inline bool covers(const GeneratedScene::Shape& shape, int x, int y) {
  const std::int64_t dx = x - shape.x, dy = y - shape.y;
  const std::int64_t w = shape.half_w, h = shape.half_h;
  if (dx < -w || dx > w || dy < -h || dy > h) return false;
  if (shape.kind == GeneratedScene::Kind::kBox) return true;
  if (shape.kind == GeneratedScene::Kind::kOval)
    return dx * dx * h * h + dy * dy * w * w <= w * w * h * h;
  const std::int64_t along = (16 * dx + shape.slant * dy) / 16 + 4096;
  return along / shape.period % 2 == 0;
}

/// The last step: grain, so that no window is flat.
CUFACE_HD inline std::uint8_t with_grain(const GeneratedScene& s, int x, int y, int v) {
  v += static_cast<int>(
           random_at(s.seed ^ 0x27d4eb2fu, static_cast<std::uint64_t>(y) * kGeneratedWidth +
                                               static_cast<std::uint64_t>(x)) >>
           62) -
       1;
  return static_cast<std::uint8_t>(std::clamp(v, 0, 255));
}

/// The reference: what generate_background() and a GPU do faster.
CUFACE_HD inline std::uint8_t generated_pixel(const GeneratedScene& s, int x, int y) {
  int v = s.brightness;
  for (int octave = 0; octave < GeneratedScene::kOctaves; ++octave) {
    if (s.octaves[octave] != 0) v += octave_noise(s, octave, x, y) * s.octaves[octave] / 128;
  }
  for (int i = 0; i < s.shapes; ++i) {
    const GeneratedScene::Shape& shape = s.shape[i];
    if (covers(shape, x, y)) v += (shape.grey - v) * shape.opacity / 255;
  }
  return with_grain(s, x, y, v);
}

/// Picture number `picture` of a seed, of kGeneratedWidth x kGeneratedHeight. Thread-safe. May
/// throw std::bad_alloc.
Image<std::uint8_t> generate_background(std::uint64_t seed, std::uint64_t picture);

}  // namespace cuface
