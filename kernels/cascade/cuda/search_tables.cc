#include "kernels/cascade/cuda/search_tables.h"

#include <algorithm>

namespace cuface::cuda {
namespace {

SearchNode search_node(const VectorNode& node) {
  SearchNode out = {};
  out.threshold = node.threshold;
  out.left_leaf = node.left_leaf;
  out.right_leaf = node.right_leaf;
  out.left = static_cast<std::int16_t>(node.left);  // below 255: validate()
  out.right = static_cast<std::int16_t>(node.right);
  std::transform(node.corner, node.corner + 12, out.corner,
                 [](std::int32_t words) { return words * kWordBytes; });
  std::copy_n(node.weight, 3, out.weight);
  out.shape = node.shape;
  return out;
}

constexpr NodeShape kShapes[4] = {NodeShape::kEdge, NodeShape::kLine2, NodeShape::kLine3,
                                  NodeShape::kGeneral};

}  // namespace

std::vector<SurvivorNode> survivor_nodes(const CascadeModel& model) {
  BoundCascade bound(model);
  const int stride = model.window_width + 1;
  bound.bind({stride});
  const VectorTables vector(bound, VectorSums::kWords);
  std::vector<SurvivorNode> nodes;
  if (stride * (model.window_height + 1) * kWordBytes > 1 << SurvivorNode::kWeightShift ||
      model.has_tilted())
    return nodes;
  for (std::size_t s = 0; s < vector.stages().size(); ++s) {
    const VectorStage& stage = vector.stages()[s];
    if (stage.tree_nodes) return {};
    for (int t = 0; t < stage.tree_count; ++t) {
      const BoundFeature& feature = bound.stages()[s].trees[t].nodes[0].feature;
      SurvivorNode node = {stage.nodes[t].threshold, stage.nodes[t].left_leaf, {}};
      if (feature.weight[0] != -1) return {};
      for (int r = 0; r < 3; ++r) {
        const float weight = r == 0 ? 0.0f : feature.weight[r];
        if (!(weight >= 0 && weight < 4)) return {};
        const auto bits = static_cast<unsigned>(weight);
        if (static_cast<float>(bits) != weight) return {};
        for (int c = 0; c < 4; ++c)
          node.corner[4 * r + c] = static_cast<std::uint16_t>(
              bits == 0 && r == 2 ? 0 : kWordBytes * feature.corner[r][c]);
        node.corner[4 * r] =
            static_cast<std::uint16_t>(node.corner[4 * r] | bits << SurvivorNode::kWeightShift);
      }
      nodes.push_back(node);
    }
    // A warp reads third rectangles only where one of its nodes has one.
    std::stable_partition(
        nodes.end() - stage.tree_count, nodes.end(),
        [](const SurvivorNode& node) { return node.corner[8] >> SurvivorNode::kWeightShift == 0; });
  }
  return nodes;
}

void add_layout(const BoundCascade& cascade, FlatCascade& flat) {
  const VectorTables vector(cascade, VectorSums::kWords);
  const auto first = static_cast<std::int32_t>(flat.nodes.size());
  flat.stages.clear();
  flat.trees.clear();
  flat.leaves.clear();
  for (std::size_t s = 0; s < vector.stages().size(); ++s) {
    const VectorStage& from = vector.stages()[s];
    const BoundCascade::Stage& exact = cascade.stages()[s];
    const auto here = [&] { return static_cast<std::int32_t>(flat.nodes.size()) - first; };
    SearchStage stage = {};
    stage.first_node = here();
    std::fill_n(stage.end, 4, here());
    stage.first_tree = static_cast<std::int32_t>(flat.trees.size());
    stage.tree_count = from.tree_count;
    stage.base = from.base;
    stage.fails = from.fails;
    stage.passes = from.passes;
    stage.threshold = exact.threshold;
    stage.stumps = from.tree_nodes == nullptr;
    std::int32_t nodes = 0;
    for (int t = 0; t < exact.tree_count; ++t) {
      const BoundCascade::Tree& tree = exact.trees[t];
      flat.trees.push_back(
          {stage.first_node + nodes, static_cast<std::int32_t>(flat.leaves.size())});
      flat.exact_nodes.insert(flat.exact_nodes.end(), tree.nodes, tree.nodes + tree.node_count);
      flat.leaves.insert(flat.leaves.end(), tree.leaves, tree.leaves + tree.node_count + 1);
      nodes += tree.node_count;
    }
    if (stage.stumps) {
      for (int shape = 0; shape < 4; ++shape) {
        for (int n = 0; n < nodes; ++n)
          if (from.nodes[n].shape == kShapes[shape])
            flat.nodes.push_back(search_node(from.nodes[n]));
        stage.end[shape] = here();
      }
    } else {
      for (int n = 0; n < nodes; ++n) flat.nodes.push_back(search_node(from.nodes[n]));
    }
    flat.stages.push_back(stage);
  }
}

}  // namespace cuface::cuda
