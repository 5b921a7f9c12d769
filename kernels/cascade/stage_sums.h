// The sums of one stage for many windows: feature after feature, in plain loops over the windows
// that compilers turn into vector code. The same numbers as window after window: each tree gives
// the same leaf, and the leaves are added in double in the order of the trees.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cascade/cascade.h"

namespace cuface {

/// Windows at equal distances in a row.
template <int kStep>
struct RowOfWindows {
  std::ptrdiff_t operator()(int i) const { return static_cast<std::ptrdiff_t>(i) * kStep; }
};

/// Windows anywhere: offset[i] from the first word of the sum plane.
struct ListOfWindows {
  const std::int32_t* offset;
  std::ptrdiff_t operator()(int i) const { return offset[i]; }
};

class StageSums {
 public:
  /// Every tree has at most node_value.size() nodes; its entries have room for a value per window.
  explicit StageSums(std::vector<std::vector<float>>& node_value) : node_value_(node_value) {}

  /// sum[i] := the stage's sum for window i, whose corner is at base + window(i).
  template <typename Windows>
  void compute(const BoundCascade::Stage& stage, const std::uint32_t* base, Windows window,
               const float* norm, int count, double* sum) {
    std::fill_n(sum, count, 0.0);
    for (int t = 0; t < stage.tree_count; ++t) {
      const BoundCascade::Tree& tree = stage.trees[t];
      // Children come behind their parents: backwards, every child is there when it is needed.
      for (int n = tree.node_count - 1; n > 0; --n) {
        float* out = values(n);
        split(tree, n, base, window, norm, count, [out](int i, float v) { out[i] = v; });
      }
      split(tree, 0, base, window, norm, count,
            [sum](int i, float v) { sum[i] += static_cast<double>(v); });
    }
  }

 private:
  struct Leaf {
    float value;
    float operator[](int) const { return value; }
  };

  float* values(int node) { return node_value_[static_cast<std::size_t>(node)].data(); }

  // Gives `out` the value of one node's subtree for every window.
  template <typename Windows, typename Out>
  void split(const BoundCascade::Tree& tree, int n, const std::uint32_t* base, Windows window,
             const float* norm, int count, Out out) {
    const BoundCascade::Node& node = tree.nodes[n];
    const auto with = [&](auto left, auto right) {
      if (node.feature.weight[2] != 0.0f) {
        split_each<3>(node, base, window, norm, count, left, right, out);
      } else {
        split_each<2>(node, base, window, norm, count, left, right, out);
      }
    };
    const auto leaf = [&](int child) { return Leaf{tree.leaves[-child]}; };
    if (node.left > 0 && node.right > 0) {
      with(values(node.left), values(node.right));
    } else if (node.left > 0) {
      with(values(node.left), leaf(node.right));
    } else if (node.right > 0) {
      with(leaf(node.left), values(node.right));
    } else {
      with(leaf(node.left), leaf(node.right));
    }
  }

  template <int kRects, typename Windows, typename Left, typename Right, typename Out>
  static void split_each(const BoundCascade::Node& node, const std::uint32_t* base, Windows window,
                         const float* norm, int count, Left left, Right right, Out out) {
    const BoundFeature f = node.feature;
    const float threshold = node.threshold;
    const std::uint32_t* corner[static_cast<std::size_t>(kRects)][4];
    for (int r = 0; r < kRects; ++r) {
      for (int c = 0; c < 4; ++c) corner[r][c] = base + f.corner[r][c];
    }
    const auto rect_sum = [&](int r, std::ptrdiff_t at) {
      return static_cast<float>(static_cast<std::int32_t>(corner[r][0][at] - corner[r][1][at] -
                                                          corner[r][2][at] + corner[r][3][at]));
    };
    for (int i = 0; i < count; ++i) {
      const std::ptrdiff_t at = window(i);
      float value = f.weight[0] * rect_sum(0, at) + f.weight[1] * rect_sum(1, at);
      if constexpr (kRects == 3) value += f.weight[2] * rect_sum(2, at);
      out(i, value * norm[i] < threshold ? left[i] : right[i]);
    }
  }

  std::vector<std::vector<float>>& node_value_;
};

}  // namespace cuface
