// Generated backgrounds: whole pictures against the formulas of their pixels.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "kernels/generated/generated.h"

namespace cuface {
namespace {

std::vector<std::uint8_t> bytes_of(const Image<std::uint8_t>& picture) {
  std::vector<std::uint8_t> out;
  for (int y = 0; y < picture.height(); ++y)
    out.insert(out.end(), picture.view().row(y), picture.view().row(y) + picture.width());
  return out;
}

TEST(Generated, WholePicturesAreThePixelsOfTheReference) {
  int shapes = 0;
  for (std::uint64_t i = 0; i < 8; ++i) {
    const GeneratedScene scene = generated_scene(38, i);
    shapes += scene.shapes;
    const Image<std::uint8_t> picture = generate_background(38, i);
    int differ = 0;
    for (int y = 0; y < kGeneratedHeight; ++y)
      for (int x = 0; x < kGeneratedWidth; ++x)
        differ += picture.view().at(x, y) != generated_pixel(scene, x, y);
    EXPECT_EQ(differ, 0) << "picture " << i;
  }
  EXPECT_GT(shapes, 50);
}

TEST(Generated, PicturesDifferAreReproducibleAndNotFlat) {
  std::set<std::vector<std::uint8_t>> pictures;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Image<std::uint8_t> picture = generate_background(5, i);
    EXPECT_TRUE(pictures.insert(bytes_of(picture)).second) << i;
    EXPECT_EQ(bytes_of(picture), bytes_of(generate_background(5, i)));
    double mean = 0, square = 0;
    for (int y = 0; y < picture.height(); ++y) {
      for (int x = 0; x < picture.width(); ++x) {
        const double v = picture.view().at(x, y);
        mean += v, square += v * v;
      }
    }
    const double n = picture.width() * picture.height();
    EXPECT_GT(square / n - mean / n * (mean / n), 1) << i;
  }
  EXPECT_TRUE(pictures.insert(bytes_of(generate_background(6, 0))).second) << "another seed";
}

}  // namespace
}  // namespace cuface
