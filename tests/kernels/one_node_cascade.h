// The smallest cascade: one stage of one tree of one node.
#pragma once

#include <memory>

#include "kernels/cascade/cascade.h"

namespace cuface::test {

/// What is left of `threshold` gets the value 1, else 2; values from `least` on pass. The feature
/// is twice the left half of a window of `side` x `side` pixels less all of it.
inline std::shared_ptr<CascadeModel> one_node_cascade(float threshold, float least, int side = 20) {
  auto m = std::make_shared<CascadeModel>();
  m->window_width = m->window_height = side;
  m->stages = {{0, 1, least}};
  m->trees = {{0, 1, 0, 2}};
  m->nodes = {{0, threshold, 0, -1}};
  m->leaves = {1, 2};
  m->features.resize(1);
  m->features[0].rect_count = 2;
  m->features[0].rects[0] = {0, 0, side, side, -1};
  m->features[0].rects[1] = {0, 0, side / 2, side, 2};
  return m;
}

/// Every window passes that is not flat.
inline CascadeModel all_accepting(int side) { return *one_node_cascade(0, -5, side); }

}  // namespace cuface::test
