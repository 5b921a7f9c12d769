// The smallest cascade: one stage of one tree of one node.
#pragma once

#include <memory>

#include "kernels/cascade/cascade.h"

namespace cuface::test {

/// What is left of `threshold` gets the value 1, else 2; values from `least` on pass. The feature
/// is twice the left half of a window of 20 x 20 less all of it.
inline std::shared_ptr<CascadeModel> one_node_cascade(float threshold, float least) {
  auto m = std::make_shared<CascadeModel>();
  m->window_width = m->window_height = 20;
  m->stages = {{0, 1, least}};
  m->trees = {{0, 1, 0, 2}};
  m->nodes = {{0, threshold, 0, -1}};
  m->leaves = {1, 2};
  m->features.resize(1);
  m->features[0].rect_count = 2;
  m->features[0].rects[0] = {0, 0, 20, 20, -1};
  m->features[0].rects[1] = {0, 0, 10, 20, 2};
  return m;
}

}  // namespace cuface::test
