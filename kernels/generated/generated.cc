// Whole pictures of generated_pixel(), quicker than pixel by pixel: a corner of the noise is drawn
// once, and a shape is asked where it can be.
#include "kernels/generated/generated.h"

#include <array>
#include <vector>

namespace cuface {
namespace {

/// An octave of the noise, row by row.
class OctaveRows {
 public:
  OctaveRows(const GeneratedScene& scene, int octave)
      : scene_(scene), octave_(octave), period_(256 >> octave) {}

  /// Adds row y to `sums`. Rows come in order.
  void add(int y, std::vector<int>& sums) {
    const int cy = y / period_, fy = y % period_;
    if (fy == 0) {
      draw(cy, top_);
      draw(cy + 1, bottom_);
    }
    const int strength = scene_.octaves[octave_];
    for (int x = 0; x < kGeneratedWidth; x += period_) {
      const auto cell = static_cast<std::size_t>(x / period_);
      // Both edges of the cell at this row; between them the noise is a straight line.
      const int left = top_[cell] * (period_ - fy) + bottom_[cell] * fy;
      const int right = top_[cell + 1] * (period_ - fy) + bottom_[cell + 1] * fy;
      const int end = std::min(period_, kGeneratedWidth - x);
      for (int fx = 0; fx < end; ++fx) {
        const int noise = (left * (period_ - fx) + right * fx) / (period_ * period_);
        sums[static_cast<std::size_t>(x + fx)] += noise * strength / 128;
      }
    }
  }

 private:
  using Corners = std::array<int, kGeneratedWidth / 8 + 2>;

  void draw(int cy, Corners& out) const {
    for (int cx = 0; cx <= (kGeneratedWidth - 1) / period_ + 1; ++cx)
      out[static_cast<std::size_t>(cx)] = noise_corner(scene_, octave_, cx, cy);
  }

  const GeneratedScene& scene_;
  const int octave_, period_;
  Corners top_{}, bottom_{};
};

}  // namespace

Image<std::uint8_t> generate_background(std::uint64_t seed, std::uint64_t picture) {
  const GeneratedScene scene = generated_scene(seed, picture);
  std::vector<OctaveRows> octaves;
  for (int octave = 0; octave < GeneratedScene::kOctaves; ++octave)
    if (scene.octaves[octave] != 0) octaves.emplace_back(scene, octave);
  Image<std::uint8_t> out(kGeneratedWidth, kGeneratedHeight);
  std::vector<int> sums(kGeneratedWidth);
  for (int y = 0; y < kGeneratedHeight; ++y) {
    sums.assign(sums.size(), scene.brightness);
    for (OctaveRows& octave : octaves) octave.add(y, sums);
    for (int i = 0; i < scene.shapes; ++i) {
      const GeneratedScene::Shape& shape = scene.shape[i];
      if (y < shape.y - shape.half_h || y > shape.y + shape.half_h) continue;
      const int end = std::min(shape.x + shape.half_w + 1, kGeneratedWidth);
      for (int x = std::max(shape.x - shape.half_w, 0); x < end; ++x) {
        int& v = sums[static_cast<std::size_t>(x)];
        if (covers(shape, x, y)) v += (shape.grey - v) * shape.opacity / 255;
      }
    }
    std::uint8_t* row = out.view().row(y);
    for (int x = 0; x < kGeneratedWidth; ++x)
      row[x] = with_grain(scene, x, y, sums[static_cast<std::size_t>(x)]);
  }
  return out;
}

}  // namespace cuface
