// Which sizes of faces a search looks for, and where: pure functions of the picture's size.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/cascade/cascade.h"
#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"

namespace cuface {

/// What a level list depends on. Sizes in pixels; limits as in DetectConfig.
struct LevelQuery {
  int window_width = 0, window_height = 0;  ///< the cascade's
  int picture_width = 0, picture_height = 0;
  double scale_factor = 1.1;
  int min_size = 0, max_size = 0;
};

/// The scales OpenCV 4.6 searches, smallest faces first. Where the limits leave none, the one whose
/// window is nearest to min_size (docs/design/detect.md). Empty only where the picture is smaller
/// than the window.
std::vector<float> search_scales(const LevelQuery& query);

/// round(size * scale), ties to even, in fp32: the side of a window in the picture.
CUFACE_HD inline int scaled_side(int size, float scale) {
  return static_cast<int>(std::lrintf(static_cast<float>(size) * scale));
}

/// The window at (x,y) of a level as a box in the searched picture.
CUFACE_HD inline Rect window_box(int x, int y, int window_width, int window_height, float scale) {
  return {scaled_side(x, scale), scaled_side(y, scale), scaled_side(window_width, scale),
          scaled_side(window_height, scale)};
}

/// One level of the scaled-picture search.
struct Level {
  float scale = 1;
  int width = 0, height = 0;  ///< of the scaled picture
  SearchGrid grid;
};

/// The levels for `scales`. step: 0 = 1 where the scale is >= 2, else 2; otherwise as given. Of
/// each level only the rows that OpenCV's division of the work into stripes covers are searched.
std::vector<Level> pyramid_levels(const LevelQuery& query, const std::vector<float>& scales,
                                  int step);

}  // namespace cuface
