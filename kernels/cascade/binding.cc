// The arithmetic is OpenCV 4.6's, operation by operation: docs/design/numeric-contract.md.
#include <algorithm>
#include <cmath>

#include "kernels/cascade/bind.h"
#include "kernels/cascade/cascade.h"
#include "kernels/cascade/evaluate.h"

namespace cuface {
namespace {

// Offsets of the corners that a rectangle's sum is made of: first - second - third + fourth.
void bind_upright(int left, int top, int right, int bottom, const SumLayout& layout,
                  std::int32_t* corner) {
  corner[0] = static_cast<std::int32_t>(layout.offset(left, top));
  corner[1] = static_cast<std::int32_t>(layout.offset(right, top));
  corner[2] = static_cast<std::int32_t>(layout.offset(left, bottom));
  corner[3] = static_cast<std::int32_t>(layout.offset(right, bottom));
}

// (x,y) is the topmost corner; w runs down to the right, h down to the left.
void bind_tilted(int x, int y, int w, int h, const SumLayout& layout, std::int32_t* corner) {
  corner[0] = static_cast<std::int32_t>(layout.tilted + layout.offset(x, y));
  corner[1] = static_cast<std::int32_t>(layout.tilted + layout.offset(x - h, y + h));
  corner[2] = static_cast<std::int32_t>(layout.tilted + layout.offset(x + w, y + w));
  corner[3] = static_cast<std::int32_t>(layout.tilted + layout.offset(x + w - h, y + w + h));
}

int scaled(int v, float scale) {
  return static_cast<int>(std::lrintf(static_cast<float>(v) * scale));
}

BoundFeature bound_scaled(const HaarFeature& feature, float scale, int width, int height,
                          const SumLayout& layout) {
  BoundFeature out = {};
  int area[3] = {};
  for (int i = 0; i < feature.rect_count; ++i) {
    const HaarRect& r = feature.rects[i];
    if (feature.tilted) {
      // Rounding may push a corner out of the window by a pixel: the sides give way.
      const int x = std::min(scaled(r.x, scale), width), y = scaled(r.y, scale);
      const int w = std::min({scaled(r.w, scale), width - x, height - y});
      const int h = std::min({scaled(r.h, scale), x, height - y - w});
      bind_tilted(x, y, w, h, layout, out.corner[i]);
      area[i] = w * h;
    } else {
      const int left = scaled(r.x, scale), right = scaled(r.x + r.w, scale);
      const int top = scaled(r.y, scale), bottom = scaled(r.y + r.h, scale);
      bind_upright(left, top, right, bottom, layout, out.corner[i]);
      area[i] = (right - left) * (bottom - top);
    }
    out.weight[i] = r.weight;
  }
  const float rest =
      out.weight[1] * static_cast<float>(area[1]) + out.weight[2] * static_cast<float>(area[2]);
  out.weight[0] = area[0] > 0 ? -rest / static_cast<float>(area[0]) : 0.0f;
  return out;
}

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
    nodes_[i].feature = bound_scaled(feature_of(model_, i), scale, width, height, layout);
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
