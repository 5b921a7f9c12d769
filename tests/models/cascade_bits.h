// A cascade as numbers, for tests of what is written and read.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "kernels/cascade/cascade.h"

namespace cuface::test {

inline void append(std::vector<std::uint32_t>& words, int value) {
  words.push_back(static_cast<std::uint32_t>(value));
}
inline void append(std::vector<std::uint32_t>& words, float value) {
  words.push_back(std::bit_cast<std::uint32_t>(value));
}

/// Every number of a cascade but its name.
inline std::vector<std::uint32_t> bits_of(const CascadeModel& m) {
  std::vector<std::uint32_t> words;
  const auto put = [&](const auto&... values) { (append(words, values), ...); };
  put(m.window_width, m.window_height);
  for (const std::size_t size :
       {m.stages.size(), m.trees.size(), m.nodes.size(), m.leaves.size(), m.features.size()})
    put(static_cast<int>(size));
  for (const HaarStage& s : m.stages) put(s.first_tree, s.tree_count, s.threshold);
  for (const HaarTree& t : m.trees) put(t.first_node, t.node_count, t.first_leaf, t.leaf_count);
  for (const HaarNode& n : m.nodes) put(n.feature, n.threshold, n.left, n.right);
  for (const float leaf : m.leaves) put(leaf);
  for (const HaarFeature& f : m.features) {
    put(f.tilted ? 1 : 0, f.rect_count);
    for (int i = 0; i < f.rect_count; ++i) {
      put(f.rects[i].x, f.rects[i].y, f.rects[i].w, f.rects[i].h, f.rects[i].weight);
    }
  }
  return words;
}

}  // namespace cuface::test
