// The tables that kernels on CUDA read of a cascade, read on the host: for one window, or a pair of
// them, what stages.cuh, survivors.cuh and pair_stages.cuh of kernels/cascade/cuda do with a node.
// Who changes how a kernel reads a node changes it here, too.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cascade/cuda/pair_tables.h"
#include "kernels/cascade/cuda/search_tables.h"

namespace cuface::test {

/// Sums in the shared memory, and where among them the window begins. Like there, offsets wrap;
/// reading beside the sums throws.
struct WindowSums {
  std::vector<std::uint32_t> words;
  std::uint32_t first = 0;
  std::uint32_t operator()(std::uint32_t bytes) const {
    return words.at(static_cast<std::uint32_t>(first * sizeof(std::uint32_t) + bytes) /
                    sizeof(std::uint32_t));
  }
};

inline float node_value(const cuda::SearchNode& node, NodeShape shape, const WindowSums& at) {
  const auto read = [&](int i) { return at(static_cast<std::uint32_t>(node.corner[i])); };
  if (shape == NodeShape::kGeneral) {
    const auto sum = [&](int r) {
      return static_cast<float>(static_cast<std::int32_t>(read(4 * r) - read(4 * r + 1) -
                                                          read(4 * r + 2) + read(4 * r + 3)));
    };
    return node.weight[0] * sum(0) + node.weight[1] * sum(1) + node.weight[2] * sum(2);
  }
  const std::uint32_t outer = read(0) + read(1) - read(2) - read(3);
  const std::uint32_t inner =
      shape == NodeShape::kEdge ? read(4) - read(5) : read(4) + read(5) - read(6) - read(7);
  return static_cast<float>(
      static_cast<std::int32_t>(outer + (shape == NodeShape::kLine3 ? 3 : 2) * inner));
}

/// A stage's sum. The nodes of stumps have the shape of the part in which they lie.
inline std::int32_t stage_sum(const cuda::SearchStage& stage, const cuda::SearchNode* nodes,
                              const cuda::CascadeView::Tree* trees, const WindowSums& at,
                              float norm) {
  constexpr NodeShape kShapes[] = {NodeShape::kEdge, NodeShape::kLine2, NodeShape::kLine3,
                                   NodeShape::kGeneral};
  std::int32_t sum = stage.base;
  for (int part = 0, n = stage.first_node; part < 4; ++part)
    for (; n < stage.end[part]; ++n)
      if (node_value(nodes[n], kShapes[part], at) * norm < nodes[n].threshold)
        sum += nodes[n].left_leaf;
  for (int t = 0; !stage.stumps && t < stage.tree_count; ++t) {
    const cuda::SearchNode* const tree = nodes + trees[stage.first_tree + t].first_node;
    int child = 0;
    do {
      const cuda::SearchNode& node = tree[child];
      const bool left = node_value(node, node.shape, at) * norm < node.threshold;
      child = left ? node.left : node.right;
      if (child == 0) sum += left ? node.left_leaf : node.right_leaf;
    } while (child > 0);
  }
  return sum;
}

/// What a survivor node adds.
inline std::int32_t survivor_leaf(const cuda::SurvivorNode& node, const WindowSums& at,
                                  float norm) {
  constexpr std::uint32_t kPlace = (1u << cuda::SurvivorNode::kWeightShift) - 1;
  const auto rectangle = [&](int r) {
    const std::uint16_t* c = node.corner + 4 * r;
    return at(c[0] & kPlace) - at(c[1]) - at(c[2]) + at(c[3]);
  };
  const auto weight = [&](int r) {
    return static_cast<std::uint32_t>(node.corner[4 * r] >> cuda::SurvivorNode::kWeightShift);
  };
  const std::uint32_t value = weight(1) * rectangle(1) - rectangle(0) + weight(2) * rectangle(2);
  return static_cast<float>(static_cast<std::int32_t>(value)) * norm < node.threshold ? node.leaf
                                                                                      : 0;
}

/// Of the upper window, of the lower one: the halves of a word.
inline int half(std::uint32_t word, int window) {
  return static_cast<int>(word >> 16 * window & 0xffff);
}

/// The word of a small node's value + 2^15; word[] without the threshold and the leaf.
inline std::uint32_t small_value(cuda::PairShape shape, const std::uint32_t* word,
                                 const WindowSums& at) {
  constexpr std::uint32_t kZero = 0x80008000u;
  const auto read = [&](int i) { return at(word[i]); };
  if (shape == cuda::PairShape::kEdge)
    return read(0) - read(1) - read(4) + read(5) + 2 * (read(2) - read(3)) + kZero;
  if (shape == cuda::PairShape::kStripe) {
    const auto line = [&](int i) { return at(word[i] + word[4]) - read(i); };
    return 3 * (line(2) - line(1)) + line(0) - line(3) + kZero;
  }
  const auto row = [&](int i) {
    return read(i) + at(word[i] + word[4]) - 2 * at(word[i] + word[3]);
  };
  return (row(0) + row(2) - 2 * row(1)) * word[5] + kZero;
}

/// A large node's value, of one of the windows.
inline int large_value(const std::uint32_t* word, const WindowSums& at, int window) {
  const auto rectangle = [&](int r) {
    const std::uint32_t* c = word + 2 + 4 * r;
    return at(c[0]) - at(c[1]) - at(c[2]) + at(c[3]);
  };
  const auto shape = static_cast<cuda::LargeShape>(word[1]);
  std::uint32_t inner = rectangle(0), rest = rectangle(1), behind = 0;
  if (shape == cuda::LargeShape::kTwo) {
    inner += rest;
    rest = rectangle(2) - inner;
  } else if (shape == cuda::LargeShape::kLine) {
    rest -= inner;
  } else {
    behind = rectangle(2);
  }
  return static_cast<int>(std::bit_cast<float>(word[0])) * half(inner, window) -
         half(rest, window) - half(behind, window);
}

/// A stage's sum of one of a pair of windows.
inline std::int32_t pair_sum(const cuda::PairStage& stage, std::span<const uint4> nodes,
                             const WindowSums& at, float norm, int window) {
  std::int32_t sum = stage.base;
  auto next = static_cast<std::size_t>(stage.first);
  for (int s = 0; s < cuda::kPairShapes; ++s)
    for (int n = 0; n < stage.count[s]; ++n) {
      const auto shape = static_cast<cuda::PairShape>(s);
      std::vector<std::uint32_t> word;
      for (const uint4& q : nodes.subspan(next, cuda::pair_node_size(shape)))
        word.insert(word.end(), {q.x, q.y, q.z, q.w});
      next += cuda::pair_node_size(shape);
      const int value = shape == cuda::PairShape::kLarge
                            ? large_value(word.data() + 2, at, window)
                            : half(small_value(shape, word.data() + 2, at), window) - (1 << 15);
      if (static_cast<float>(value) * norm < std::bit_cast<float>(word[0]))
        sum += static_cast<std::int32_t>(word[1]);
    }
  return sum;
}

}  // namespace cuface::test
