// Means of ever larger squares of a picture, which stand in for sums [S2.01, S2.02].
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/common/image.h"

namespace cuface::surf {

/// Level n has the means of squares of 2^n pixels, of a picture that is padded with black, right
/// and below, to sides that are powers of two. Keeps its memory from picture to picture.
class Mipmap {
 public:
  void fill(ImageView<const std::uint8_t> grey);

  /// The mean around (x, y), where an integer is the centre of a pixel: between four means of each
  /// of the two levels beside `level`, which is 0 or more. Beyond a side its last mean counts.
  float at(float x, float y, float level) const;

 private:
  struct Level {
    int width = 0, height = 0;
    std::vector<float> means;
    float& mean(int x, int y) { return means[index(x, y)]; }
    float mean(int x, int y) const { return means[index(x, y)]; }
    std::size_t index(int x, int y) const {
      return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
             static_cast<std::size_t>(x);
    }
    void resize(int w, int h);
  };
  float between(std::size_t level, float x, float y) const;

  std::vector<Level> levels_;
};

}  // namespace cuface::surf
