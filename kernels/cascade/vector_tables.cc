// What the vector code reads of a cascade, and the room it works in.
#include <algorithm>
#include <cmath>

#include "kernels/cascade/vector_search.h"

namespace cuface {
namespace {

constexpr std::size_t kWidestVector = 16;  // windows
constexpr double kLargestSum = 1 << 30;
constexpr std::size_t kFoundAtFirst = 4096;  // more than pictures hold, but some do

double largest_leaf(const BoundCascade::Tree& tree) {
  double most = 0;
  for (int i = 0; i <= tree.node_count; ++i) {
    most = std::max(most, std::abs(static_cast<double>(tree.leaves[i])));
  }
  return most;
}

// The power of two that makes the largest possible sum of a stage fill the integers.
double units_of(const BoundCascade::Stage& stage) {
  double most = 0;
  for (int t = 0; t < stage.tree_count; ++t) most += largest_leaf(stage.trees[t]);
  if (most == 0) return 1;
  return std::exp2(std::floor(std::log2(kLargestSum / most)));
}

std::int32_t clamped(double v) {
  return static_cast<std::int32_t>(std::clamp(v, -2.0 * kLargestSum + 1, 2.0 * kLargestSum - 1));
}

std::int32_t in_units(float leaf, double units) {
  return static_cast<std::int32_t>(std::lrint(static_cast<double>(leaf) * units));
}

}  // namespace

std::uint64_t skipped_windows(std::uint64_t failed, bool& carry) {
  // A run of failures fails every second of its windows and skips those between. Adding its first
  // bit to a run makes it overflow into the bit behind it, which tells where runs end; whether they
  // began at an odd or an even place tells which of their windows are skipped.
  constexpr std::uint64_t kEven = 0x5555555555555555;
  const std::uint64_t first = carry ? 1 : 0;
  failed &= ~first;
  const std::uint64_t behind = failed << 1 | first;
  const std::uint64_t odd_starts = failed & ~kEven & ~behind;
  const std::uint64_t sum = odd_starts + failed;
  carry = sum < failed;
  return (kEven ^ (sum << 1)) & behind;
}

VectorSearch::VectorSearch(const BoundCascade& cascade, int max_columns) : cascade_(cascade) {
  std::size_t nodes = 0, trees = 0, most_nodes = 0;
  for (const BoundCascade::Stage& stage : cascade.stages()) {
    for (int t = 0; t < stage.tree_count; ++t, ++trees) {
      const std::size_t count = static_cast<std::size_t>(stage.trees[t].node_count);
      nodes += count;
      most_nodes = std::max(most_nodes, count);
    }
  }
  nodes_.reserve(nodes);
  tree_nodes_.reserve(trees);
  for (const BoundCascade::Stage& stage : cascade.stages()) {
    const double units = units_of(stage);
    VectorStage out = {nodes_.data() + nodes_.size(), tree_nodes_.data() + tree_nodes_.size(),
                       stage.tree_count, 0, 0};
    bool stumps = true;
    for (int t = 0; t < stage.tree_count; ++t) {
      const BoundCascade::Tree& tree = stage.trees[t];
      tree_nodes_.push_back(tree.node_count);
      stumps = stumps && tree.node_count == 1;
      for (int n = 0; n < tree.node_count; ++n) {
        const BoundCascade::Node& node = tree.nodes[n];
        VectorNode v = {};
        std::copy_n(&node.feature.corner[0][0], 12, &v.corner[0][0]);
        std::copy_n(node.feature.weight, 3, v.weight);
        v.threshold = node.threshold;
        v.left = std::max(node.left, 0);
        v.right = std::max(node.right, 0);
        if (node.left <= 0) v.left_leaf = in_units(tree.leaves[-node.left], units);
        if (node.right <= 0) v.right_leaf = in_units(tree.leaves[-node.right], units);
        nodes_.push_back(v);
      }
    }
    if (stumps) out.tree_nodes = nullptr;
    // Half a unit for each leaf, and one for the rounding of the definition's own sum in double.
    const double margin = 0.5 * stage.tree_count + 1;
    out.fails = clamped(std::floor(stage.threshold * units - margin));
    out.passes = clamped(std::ceil(stage.threshold * units + margin));
    stages_.push_back(out);
  }
  const std::size_t row = static_cast<std::size_t>(max_columns) + kWidestVector;
  node_values_.resize(most_nodes * kWidestVector);
  row_norm_.resize(row);
  failed_.resize(row / 64 + 1);
  alive_.resize(row / 64 + 1);
  waiting_.resize(stages_.size());
  found_.reserve(kFoundAtFirst);
}

}  // namespace cuface
