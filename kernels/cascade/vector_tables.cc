// What the vector code reads of a cascade, and the room it works in.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "kernels/cascade/vector_search.h"

namespace cuface {
namespace {

constexpr std::size_t kWidestVector = 16;    // windows
constexpr double kLargestSum = 1 << 29;      // leaves are also subtracted from each other
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
  return static_cast<std::int32_t>(std::clamp(v, -2 * kLargestSum, 2 * kLargestSum));
}

std::int32_t in_units(float leaf, double units) {
  return static_cast<std::int32_t>(std::lrint(static_cast<double>(leaf) * units));
}

// The corners of two rectangles with the weights -1 and `weight`, by what they are multiplied with;
// kGeneral where they do not have one of the shapes.
NodeShape merge_corners(const std::int32_t (&corner)[3][4], int weight, std::int32_t* merged) {
  constexpr int kSign[4] = {1, -1, -1, 1};
  std::map<std::int32_t, int> factors;
  for (int i = 0; i < 4; ++i) {
    factors[corner[0][i]] -= kSign[i];
    factors[corner[1][i]] += kSign[i] * weight;
  }
  std::vector<std::int32_t> plus, minus, inner_plus, inner_minus;
  for (const auto& [at, factor] : factors) {
    if (factor == 1) plus.push_back(at);
    if (factor == -1) minus.push_back(at);
    if (factor == weight) inner_plus.push_back(at);
    if (factor == -weight) inner_minus.push_back(at);
  }
  const std::size_t inner = inner_plus.size();
  if (plus.size() != 2 || minus.size() != 2 || inner_minus.size() != inner ||
      factors.size() != 4 + 2 * inner) {
    return NodeShape::kGeneral;
  }
  for (const auto& list : {plus, minus, inner_plus, inner_minus}) {
    merged = std::copy(list.begin(), list.end(), merged);
  }
  if (inner == 2) return weight == 2 ? NodeShape::kLine2 : NodeShape::kLine3;
  return inner == 1 && weight == 2 ? NodeShape::kEdge : NodeShape::kGeneral;
}

VectorNode vector_node(const BoundFeature& feature, bool exact_in_integers) {
  VectorNode v = {};
  const float* w = feature.weight;
  if (exact_in_integers && w[0] == -1.0f && (w[1] == 2.0f || w[1] == 3.0f) && w[2] == 0.0f) {
    v.shape = merge_corners(feature.corner, static_cast<int>(w[1]), v.corner);
    if (v.shape != NodeShape::kGeneral) return v;
  }
  std::copy_n(&feature.corner[0][0], 12, v.corner);
  std::copy_n(w, 3, v.weight);
  return v;
}

using VectorTree = std::vector<VectorNode>;

VectorTree vector_tree(const BoundCascade::Tree& tree, double units, bool exact_in_integers) {
  VectorTree out;
  for (int n = 0; n < tree.node_count; ++n) {
    const BoundCascade::Node& node = tree.nodes[n];
    VectorNode v = vector_node(node.feature, exact_in_integers);
    v.threshold = node.threshold;
    v.left = std::max(node.left, 0);
    v.right = std::max(node.right, 0);
    if (node.left <= 0) v.left_leaf = in_units(tree.leaves[-node.left], units);
    if (node.right <= 0) v.right_leaf = in_units(tree.leaves[-node.right], units);
    out.push_back(v);
  }
  return out;
}

}  // namespace

PackedLayout::PackedLayout(const CascadeModel& model, const SumLayout& layout)
    : stride(layout.stride), step(layout.step), rows(model.window_height + 1) {
  if (model.has_tilted()) return;
  const int columns = model.window_width + 1;
  for (int first = 0; first < step; ++first) {
    const int groups = ((columns - first + step - 1) / step + 3) / 4;
    run[run_count++] = {first * (stride / step), row_words, groups};
    row_words += 4 * groups;
  }
  words = rows * row_words;
}

std::int32_t PackedLayout::packed(std::int32_t corner) const {
  const int column = corner % stride;
  const Run& r = run[column / (stride / step)];
  return corner / stride * row_words + r.to + column - r.from;
}

VectorSearch::VectorSearch(const BoundCascade& cascade, int max_columns)
    : cascade_(cascade), packed_layout_(cascade.model(), cascade.layout()) {
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
  for (const BoundCascade::Stage& stage : cascade.stages()) add_stage(stage);
  if (packed_layout_.packs()) {
    packed_nodes_ = nodes_;
    packed_stages_ = stages_;
    for (VectorStage& stage : packed_stages_) {
      stage.nodes = packed_nodes_.data() + (stage.nodes - nodes_.data());
    }
    packed_ = Image<std::int32_t>(packed_layout_.words * static_cast<int>(kWidestVector), 1);
  }
  const std::size_t row = static_cast<std::size_t>(max_columns) + kWidestVector;
  node_values_.resize(most_nodes * kWidestVector);
  row_norm_.resize(row);
  failed_.resize(row / 64 + 1);
  alive_.resize(row / 64 + 1);
  waiting_.resize(stages_.size());
  found_.reserve(kFoundAtFirst);
}

const std::vector<VectorStage>& VectorSearch::packed_stages(std::size_t lanes) {
  if (std::exchange(packed_lanes_, lanes) == lanes) return packed_stages_;
  for (std::size_t n = 0; n < packed_nodes_.size(); ++n) {
    for (std::size_t i = 0; i < std::size(nodes_[n].corner); ++i) {
      packed_nodes_[n].corner[i] =
          packed_layout_.packed(nodes_[n].corner[i]) * static_cast<std::int32_t>(lanes);
    }
  }
  return packed_stages_;
}

void VectorSearch::add_stage(const BoundCascade::Stage& stage) {
  const CascadeModel& model = cascade_.model();
  const bool exact = model.window_width * model.window_height * 255 * 3 < 1 << 24;
  const double units = units_of(stage);
  std::vector<VectorTree> trees;
  trees.reserve(static_cast<std::size_t>(stage.tree_count));
  for (int t = 0; t < stage.tree_count; ++t) {
    trees.push_back(vector_tree(stage.trees[t], units, exact));
  }
  const bool stumps =
      std::all_of(trees.begin(), trees.end(), [](const VectorTree& t) { return t.size() == 1; });
  VectorStage out = {};
  out.nodes = nodes_.data() + nodes_.size();
  out.tree_nodes = stumps ? nullptr : tree_nodes_.data() + tree_nodes_.size();
  out.tree_count = stage.tree_count;
  for (VectorTree& tree : trees) {
    if (stumps) {
      out.base += tree[0].right_leaf;
      tree[0].left_leaf -= tree[0].right_leaf;
    }
    tree_nodes_.push_back(static_cast<int>(tree.size()));
    nodes_.insert(nodes_.end(), tree.begin(), tree.end());
  }
  // Half a unit for each leaf, and one for the rounding of the definition's own sum in double.
  const double margin = 0.5 * stage.tree_count + 1;
  out.fails = clamped(std::floor(stage.threshold * units - margin));
  out.passes = clamped(std::ceil(stage.threshold * units + margin));
  stages_.push_back(out);
}

}  // namespace cuface
