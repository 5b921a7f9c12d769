// group: many raw windows on one face -> one box and how many windows agreed [S0.20 to S0.22]
// (and OpenCV's groupRectangles).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/common/geometry.h"
#include "kernels/common/stop_flag.h"

namespace cuface {

enum class Grouping {
  kOpenCv,   ///< similar edges (eps 0.2), more than min_neighbors windows, inner boxes dropped
  kOverlap,  ///< the published rule: transitive overlap, at least min_neighbors windows
};

struct Detection {
  Rect box;
  int neighbors = 0;  ///< raw windows in the group
  friend bool operator==(const Detection&, const Detection&) = default;
};

/// Working memory of group(), so that it allocates nothing once it has grown (or was reserved).
struct GroupScratch {
  /// Windows of one size whose corners lie on one spot of a grid: order[first] to order[last - 1].
  struct Cell {
    int row, column, first, last;
  };
  /// A size of windows, the grid for it, and its cells, sorted by row and column. Later of groups.
  struct SizeClass {
    int w, h, cell_w, cell_h;
    std::size_t first_cell, last_cell;
  };
  std::vector<int> order, parent;
  std::vector<SizeClass> sizes;
  std::vector<Cell> cells;
  std::vector<Detection> sums, means;
  void reserve(std::size_t windows);
};

/// Groups `windows`; neither their order nor anything else but their values changes the result. out
/// is sorted: most neighbours first, then by y, x, height, width.
/// kOpenCv keeps groups of MORE than min_neighbors windows, kOverlap groups of min_neighbors or
/// more (3 is the published rule; a window counts itself). With min_neighbors 0 every
/// window is returned as it is, with neighbors 1. False, with an empty `out`, once `stop` is
/// raised. Sides are at least 1. Windows on one spot are compared with few others, and so are
/// groups; the time grows with the pairs of sizes. Thread-safe as long as `scratch` is not shared.
bool group(std::span<const Rect> windows, Grouping rule, int min_neighbors, GroupScratch& scratch,
           std::vector<Detection>& out, const StopFlag* stop = nullptr);

}  // namespace cuface
