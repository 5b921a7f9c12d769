// The arithmetic is OpenCV 4.6's, operation by operation: docs/design/numeric-contract.md.
#include <algorithm>

#include "kernels/cascade/bind.h"
#include "kernels/cascade/cascade.h"
#include "kernels/cascade/evaluate.h"
#include "kernels/cascade/scaled.h"

namespace cuface {
namespace {

const HaarFeature& feature_of(const CascadeModel& model, std::size_t node) {
  return model.features[static_cast<std::size_t>(model.nodes[node].feature)];
}

}  // namespace

BoundFeature bind_feature(const HaarFeature& feature, const SumLayout& layout) {
  BoundFeature out = {};
  for (int i = 0; i < feature.rect_count; ++i) {
    const HaarRect& r = feature.rects[i];
    if (feature.tilted) {
      bind_tilted(r.x, r.y, r.w, r.h, layout, out.corner[i]);
    } else {
      bind_upright(r.x, r.y, r.x + r.w, r.y + r.h, layout, out.corner[i]);
    }
    out.weight[i] = r.weight;
  }
  return out;
}

BoundCascade::BoundCascade(const CascadeModel& model) : model_(model) {
  nodes_.resize(model.nodes.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].threshold = model.nodes[i].threshold;
    nodes_[i].left = model.nodes[i].left;
    nodes_[i].right = model.nodes[i].right;
  }
  trees_.reserve(model.trees.size());
  for (const HaarTree& t : model.trees) {
    trees_.push_back(
        {nodes_.data() + t.first_node, model.leaves.data() + t.first_leaf, t.node_count});
    most_nodes_ = std::max(most_nodes_, t.node_count);
  }
  for (const HaarStage& s : model.stages) {
    stages_.push_back({trees_.data() + s.first_tree, s.tree_count,
                       static_cast<double>(s.threshold - kStageSlack)});
  }
}

void BoundCascade::bind(const SumLayout& layout) {
  layout_ = layout;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].feature = bind_feature(feature_of(model_, i), layout);
  }
}

void BoundCascade::bind_scaled(float scale, int width, int height, const SumLayout& layout) {
  layout_ = layout;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].feature = bind_scaled_feature(feature_of(model_, i), scale, width, height, layout);
  }
}

std::size_t BoundCascade::failed_stage(const std::uint32_t* window, float inverse_norm,
                                       std::size_t first) const {
  std::size_t at = first;
  for (; at < stages_.size(); ++at) {
    const Stage& stage = stages_[at];
    double sum = 0;
    for (const Tree& tree : std::span(stage.trees, static_cast<std::size_t>(stage.tree_count))) {
      sum += static_cast<double>(tree_value(tree.nodes, tree.leaves, window, inverse_norm));
    }
    if (sum < stage.threshold) break;
  }
  return at;
}

}  // namespace cuface
