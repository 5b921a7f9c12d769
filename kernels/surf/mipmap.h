// Means of ever larger squares of a picture, which stand in for sums [S2.01, S2.02].
//
// Level n has the means of squares of 2^n pixels, of a picture that is padded with black, right and
// below, to sides that are powers of two.
#pragma once

#include <math.h>

#include <cstdint>
#include <vector>

#include "kernels/common/host_device.h"
#include "kernels/common/image.h"

namespace cuface::surf {

/// Of a picture of kMostSurfPixels that is a row.
inline constexpr int kMostMipmapLevels = 26;

/// The binary logarithm of 1 or more: a series in double, so that both processors have the same.
CUFACE_HD inline float binary_logarithm(float value) {
  int whole = 0;
  for (; value >= 2; value *= 0.5f) ++whole;
  const double z = (static_cast<double>(value) - 1) / (static_cast<double>(value) + 1);
  double sum = 0;
  for (int i = 27; i > 0; i -= 2) sum = sum * z * z + 1.0 / i;
  return static_cast<float>(whole + 2 / 0.6931471805599453 * z * sum);
}

/// The mean of a square of four of the level before.
CUFACE_HD inline float mean_of_four(float left_above, float right_above, float left_below,
                                    float right_below) {
  return ((left_above + right_above) + (left_below + right_below)) * 0.25f;
}

/// The mean between four of a level. A Mipmap has levels(), width(n), height(n) and mean(n, x, y).
CUFACE_HD_GENERIC
template <typename Mipmap>
CUFACE_HD float mean_between(const Mipmap& mipmap, int level, float x, float y) {
  const float side = 1 / static_cast<float>(1 << level);
  const float u = (x + 0.5f) * side - 0.5f, v = (y + 0.5f) * side - 0.5f;
  const float left = floorf(u), top = floorf(v), a = u - left, b = v - top;
  const auto inside = [](float at, int count) {
    const auto last = static_cast<float>(count - 1);
    return static_cast<int>(at < 0 ? 0 : at > last ? last : at);
  };
  const int w = mipmap.width(level), h = mipmap.height(level);
  const int x0 = inside(left, w), x1 = inside(left + 1, w), y0 = inside(top, h),
            y1 = inside(top + 1, h);
  return (mipmap.mean(level, x0, y0) * (1 - a) + mipmap.mean(level, x1, y0) * a) * (1 - b) +
         (mipmap.mean(level, x0, y1) * (1 - a) + mipmap.mean(level, x1, y1) * a) * b;
}

/// The mean around (x, y), where an integer is the centre of a pixel: between four means of each of
/// the two levels beside `level`, which is 0 or more. Beyond a side its last mean counts.
CUFACE_HD_GENERIC
template <typename Mipmap>
CUFACE_HD float mean_at(const Mipmap& mipmap, float x, float y, float level) {
  const auto last = static_cast<float>(mipmap.levels() - 1);
  const float whole = floorf(level), lower = whole < last ? whole : last,
              upper = lower + 1 < last ? lower + 1 : last;
  const float share = (level < last ? level : last) - lower;
  return mean_between(mipmap, static_cast<int>(lower), x, y) * (1 - share) +
         mean_between(mipmap, static_cast<int>(upper), x, y) * share;
}

/// Keeps its memory from picture to picture.
class Mipmap {
 public:
  void fill(ImageView<const std::uint8_t> grey);

  int levels() const { return static_cast<int>(levels_.size()); }
  int width(int level) const { return at(level).width; }
  int height(int level) const { return at(level).height; }
  float mean(int level, int x, int y) const { return at(level).mean(x, y); }

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
  const Level& at(int level) const { return levels_[static_cast<std::size_t>(level)]; }

  std::vector<Level> levels_;
};

}  // namespace cuface::surf
