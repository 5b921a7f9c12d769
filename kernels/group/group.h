// group: many raw windows on one face -> one box and how many windows agreed (S0.20-S0.22;
// thesis 4.2.5, 4.3.6, and OpenCV's groupRectangles).
#pragma once

#include <span>
#include <vector>

#include "kernels/common/geometry.h"

namespace cuface {

enum class Grouping {
  kOpenCv,   ///< similar edges (eps 0.2), more than min_neighbors windows, inner boxes dropped
  kOverlap,  ///< the published rule: transitive overlap, groups of at least three windows
};

struct Detection {
  Rect box;
  int neighbors = 0;  ///< raw windows in the group
  friend bool operator==(const Detection&, const Detection&) = default;
};

/// Groups `windows` (any order; the result does not depend on it beyond the stated sort). With
/// min_neighbors 0 every window is returned as it is, with neighbors 1. Thread-safe.
void group(std::span<const Rect> windows, Grouping rule, int min_neighbors,
           std::vector<Detection>& out);

}  // namespace cuface
