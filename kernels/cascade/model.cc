// What a cascade must be before anybody computes with it.
#include <algorithm>
#include <cmath>

#include "kernels/cascade/cascade.h"
#include "kernels/common/try.h"

namespace cuface {
namespace {

Status corrupt(const std::string& what, std::size_t index, const std::string& why) {
  return {StatusCode::kCorrupt, what + " " + std::to_string(index) + ": " + why};
}

// Stages share no trees, and trees no nodes and no leaves. Each takes the next `count` of a list of
// `size` entries, of which `used` are taken. So a search costs no more than the file is long.
bool is_next(int first, int count, std::size_t& used, std::size_t size) {
  if (first < 0 || static_cast<std::size_t>(first) != used) return false;
  if (count < 1 || static_cast<std::size_t>(count) > size - used) return false;
  used += static_cast<std::size_t>(count);
  return true;
}

// Sizes come first: what is too large is refused before it is looked at.
Status check_sizes(const CascadeModel& m) {
  const struct {
    const char* what;
    std::size_t has, most;
  } sizes[] = {{"stages", m.stages.size(), kMaxCascadeStages},
               {"trees", m.trees.size(), kMaxCascadeTrees},
               {"nodes", m.nodes.size(), kMaxCascadeNodes},
               {"features", m.features.size(), kMaxCascadeFeatures}};
  for (const auto& size : sizes) {
    if (size.has <= size.most) continue;
    return {StatusCode::kCorrupt, "its sizes are out of range: it has " + std::to_string(size.has) +
                                      " " + size.what + ", at most " + std::to_string(size.most) +
                                      " are possible"};
  }
  return {};
}

// What no tree or stage takes would be bound without having been checked.
Status check_used(const char* what, std::size_t used, std::size_t size) {
  if (used == size) return {};
  return {StatusCode::kCorrupt, std::string(what) + " " + std::to_string(used) + " of " +
                                    std::to_string(size) + " belongs to nothing"};
}

// Sides are checked before sums of them, so that nothing overflows.
bool is_inside(const HaarRect& r, bool tilted, int width, int height) {
  if (r.w < 1 || r.h < 1 || r.x < 0 || r.y < 0) return false;
  if (r.w > width || r.h > height || r.x > width || r.y > height) return false;
  if (tilted) return r.x >= r.h && r.x + r.w <= width && r.y + r.w + r.h <= height;
  return r.x + r.w <= width && r.y + r.h <= height;
}

Status validate_features(const CascadeModel& m) {
  for (std::size_t i = 0; i < m.features.size(); ++i) {
    const HaarFeature& f = m.features[i];
    if (f.rect_count < 2 || f.rect_count > 3) {
      return corrupt("feature", i,
                     "has " + std::to_string(f.rect_count) + " rectangles, 2 or 3 are possible");
    }
    for (int r = 0; r < f.rect_count; ++r) {
      if (!is_inside(f.rects[r], f.tilted, m.window_width, m.window_height)) {
        return corrupt("feature", i, "rectangle " + std::to_string(r) + " leaves the window");
      }
      if (!(std::fabs(f.rects[r].weight) <= kMaxRectWeight)) {
        return corrupt(
            "feature", i,
            "rectangle " + std::to_string(r) + " has a weight that is not between -1000 and 1000");
      }
    }
  }
  return {};
}

Status validate_child(const HaarTree& tree, std::size_t tree_index, int node, int child) {
  const bool is_node = child > node && child < tree.node_count;
  const bool is_leaf = child <= 0 && child > -tree.leaf_count;
  if (is_node || is_leaf) return {};
  return corrupt("tree", tree_index,
                 "node " + std::to_string(node) + " has the child " + std::to_string(child) +
                     ", which is neither a later node nor a leaf of the tree");
}

Status validate_trees(const CascadeModel& m) {
  std::size_t nodes = 0, leaves = 0;  // of the trees before
  for (std::size_t i = 0; i < m.trees.size(); ++i) {
    const HaarTree& t = m.trees[i];
    if (!is_next(t.first_node, t.node_count, nodes, m.nodes.size())) {
      return corrupt("tree", i, "its nodes do not follow those of the tree before");
    }
    if (t.node_count > kMaxTreeNodes) {
      return corrupt("tree", i, "has more than " + std::to_string(kMaxTreeNodes) + " nodes");
    }
    if (t.leaf_count != t.node_count + 1) {
      return corrupt("tree", i,
                     "has " + std::to_string(t.leaf_count) + " leaves for " +
                         std::to_string(t.node_count) + " nodes");
    }
    if (!is_next(t.first_leaf, t.leaf_count, leaves, m.leaves.size())) {
      return corrupt("tree", i, "its leaves do not follow those of the tree before");
    }
    for (int n = 0; n < t.node_count; ++n) {
      const HaarNode& node = m.nodes[static_cast<std::size_t>(t.first_node + n)];
      if (node.feature < 0 || static_cast<std::size_t>(node.feature) >= m.features.size()) {
        return corrupt("tree", i,
                       "node " + std::to_string(n) + " uses feature " +
                           std::to_string(node.feature) + " of " +
                           std::to_string(m.features.size()));
      }
      if (!std::isfinite(node.threshold)) {
        return corrupt("tree", i, "node " + std::to_string(n) + " has no finite threshold");
      }
      for (const int child : {node.left, node.right}) {
        CUFACE_TRY(validate_child(t, i, n, child));
      }
    }
  }
  CUFACE_TRY(check_used("node", nodes, m.nodes.size()));
  return check_used("leaf", leaves, m.leaves.size());
}

}  // namespace

bool CascadeModel::has_tilted() const {
  return std::any_of(features.begin(), features.end(),
                     [](const HaarFeature& f) { return f.tilted; });
}

Status validate(const CascadeModel& m) {
  if (m.window_width < kMinWindowSide || m.window_width > kMaxWindowSide ||
      m.window_height < kMinWindowSide || m.window_height > kMaxWindowSide) {
    return {StatusCode::kCorrupt, "the window is " + std::to_string(m.window_width) + "x" +
                                      std::to_string(m.window_height) +
                                      ", sides of 3 to 255 are possible"};
  }
  CUFACE_TRY(check_sizes(m));
  if (m.stages.empty()) return {StatusCode::kCorrupt, "the cascade has no stages"};
  std::size_t trees = 0;  // of the stages before
  for (std::size_t i = 0; i < m.stages.size(); ++i) {
    const HaarStage& s = m.stages[i];
    if (!is_next(s.first_tree, s.tree_count, trees, m.trees.size())) {
      return corrupt("stage", i, "has no trees, or they do not follow those of the stage before");
    }
    if (!std::isfinite(s.threshold)) return corrupt("stage", i, "has no finite threshold");
  }
  CUFACE_TRY(check_used("tree", trees, m.trees.size()));
  for (std::size_t i = 0; i < m.leaves.size(); ++i) {
    if (!std::isfinite(m.leaves[i])) return corrupt("leaf", i, "is not a finite number");
  }
  CUFACE_TRY(validate_trees(m));
  return validate_features(m);
}

}  // namespace cuface
