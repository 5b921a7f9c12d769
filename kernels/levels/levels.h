// Which sizes of faces a search looks for, and where: pure functions of the picture's size.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/cells/cells.h"
#include "kernels/cells/region.h"
#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/status.h"
#include "kernels/pyramid/atlas.h"

namespace cuface {

/// The parameters of a level list. Sizes in pixels; limits as in DetectConfig.
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

/// Whether a box is one of windows of width x height in a level of that scale.
CUFACE_HD inline bool has_size(const Rect& box, int width, int height, float scale) {
  return scaled_side(width, scale) == box.w && scaled_side(height, scale) == box.h;
}

/// The place in a level that lies at `v` in the picture, where `v` is scaled_side() of one.
CUFACE_HD inline int level_place(int v, float scale) {
  const int near = static_cast<int>(std::lrintf(static_cast<float>(v) / scale));
  if (scaled_side(near, scale) == v) return near;
  if (scaled_side(near - 1, scale) == v) return near - 1;
  return scaled_side(near + 1, scale) == v ? near + 1 : near;
}

/// The class of a map of active parts that a level's windows have.
CUFACE_HD inline int level_class(int window_width, float scale) {
  return size_class_of(scaled_side(window_width, scale));
}

/// The window at (x,y) of a level as a box in the searched picture.
CUFACE_HD inline Rect window_box(int x, int y, int window_width, int window_height, float scale) {
  return {scaled_side(x, scale), scaled_side(y, scale), scaled_side(window_width, scale),
          scaled_side(window_height, scale)};
}

/// The windows of a level to look at: x = 0, step, 2 step, ... < columns; y likewise < rows.
struct SearchGrid {
  int columns = 0, rows = 0;
  int step = 1;  ///< 1 or 2
};

/// One level of the scaled-picture search.
struct Level {
  float scale = 1;
  int width = 0, height = 0;  ///< of the scaled picture
  SearchGrid grid;
};

/// Rows of windows from `first`, a multiple of the step, up to but not with `last`.
struct RowRange {
  int first = 0, last = 0;
};

/// The rows of a level that a search of a band looks at: windows whose middle lies in it, and as
/// many around them as the windows of one face lie apart. `height` of the level and the `window` in
/// the level's pixels.
CUFACE_HD inline RowRange band_rows(const SearchRegion& band, int height, int window, int rows,
                                    int step) {
  if (band.count <= 1) return {0, rows};
  const int around = window / 5;
  const int top = band_border(height, band.index, band.count) - window / 2 - around;
  const int bottom = band_border(height, band.index + 1, band.count) - window / 2 + around + 1;
  const int first = band.index == 0 || top < 0 ? 0 : top - top % step;
  const int last = band.index + 1 == band.count || bottom > rows ? rows : bottom;
  return {first, last > first ? last : first};
}

/// The levels for `scales`. step: 0 = 1 where the scale is >= 2, else 2; otherwise as given. A
/// level has only the rows that OpenCV's division of the work into stripes covers.
std::vector<Level> pyramid_levels(const LevelQuery& query, const std::vector<float>& scales,
                                  int step);

/// How many windows a search of all levels looks at.
long long count_windows(const std::vector<Level>& levels);

/// The places of the levels' pixels in one atlas, and of their sums in another of the same size:
/// each slot has room for a row and a column more, and begins where whole vectors do. kUnsupported
/// where they take more than kMaxAtlasBytes, which bytes from the atlas's first are counted in.
Result<Atlas> level_atlas(const std::vector<Level>& levels);
inline constexpr std::uint64_t kMaxAtlasBytes = std::uint64_t{1} << 32;

}  // namespace cuface
