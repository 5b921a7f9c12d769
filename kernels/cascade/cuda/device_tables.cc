#include "kernels/cascade/cuda/device_tables.h"

#include <cstddef>
#include <utility>

#include "kernels/cascade/bind.h"
#include "kernels/common/cuda/tables.h"
#include "kernels/common/try.h"

namespace cuface::cuda {

CascadeView DeviceTables::view(int layout) const {
  const std::ptrdiff_t first = std::ptrdiff_t{layout} * node_count;
  return {stages.data(), nodes.data() + first, trees.data(), exact_nodes.data() + first,
          leaves.data()};
}

const PairNodes& DeviceCascade::pairs(const SearchLayouts& layouts, int most_stages) {
  if (!pairs_) pairs_ = pair_nodes(model_, {layouts[0], layouts[1]}, most_stages, pair_words_);
  return *pairs_;
}

Result<std::shared_ptr<const DeviceTables>> DeviceCascade::tables(const SearchLayouts& layouts,
                                                                  bool has_survivors) {
  for (const auto& made : made_)
    if (made->layouts == layouts && made->has_survivors == has_survivors) return made;
  auto tables = std::make_shared<DeviceTables>();
  tables->layouts = layouts;
  tables->has_survivors = has_survivors;
  CUFACE_TRY(make(*tables));
  made_.push_back(std::move(tables));
  return made_.back();
}

Status DeviceCascade::make(DeviceTables& out) {
  FlatCascade flat;
  BoundCascade bound(model_);
  for (const SumLayout& layout : out.layouts) {
    bound.bind(layout);
    add_layout(bound, flat);
  }
  const std::size_t nodes = flat.nodes.size() / out.layouts.size();
  out.node_count = static_cast<std::int32_t>(nodes);
  CUFACE_TRY(take(upload(flat.stages), out.stages));
  CUFACE_TRY(take(upload(flat.nodes), out.nodes));
  CUFACE_TRY(take(upload(flat.trees), out.trees));
  CUFACE_TRY(take(upload(flat.exact_nodes), out.exact_nodes));
  CUFACE_TRY(take(upload(flat.leaves), out.leaves));
  if (!out.has_survivors) return {};
  CUFACE_TRY(take(upload(survivor_nodes(model_)), out.survivor_nodes));
  return take(upload(pair_words_), out.pair_words);
}

Result<std::shared_ptr<const ScaledTables>> DeviceCascade::scaled_tables() {
  if (scaled_) return scaled_;
  auto tables = std::make_shared<ScaledTables>();
  std::vector<ScaledNode> nodes;
  for (const HaarNode& node : model_.nodes)
    nodes.push_back({model_.features[static_cast<std::size_t>(node.feature)], node.threshold,
                     node.left, node.right});
  // Of a valid model trees, nodes and leaves follow each other.
  std::vector<CascadeView::Tree> trees;
  std::vector<ScaledPart> parts;
  for (const HaarStage& stage : model_.stages) {
    const double threshold = static_cast<double>(stage.threshold - kStageSlack);
    for (int t = stage.first_tree; t < stage.first_tree + stage.tree_count; ++t) {
      const HaarTree& tree = model_.trees[static_cast<std::size_t>(t)];
      trees.push_back({tree.first_node, tree.first_leaf});
      const bool begins = t == stage.first_tree;
      if (begins || parts.back().node_count + tree.node_count > ScaledTables::kMostNodes)
        parts.push_back({tree.first_node, 0, t, 0, threshold, begins, false});
      parts.back().node_count += tree.node_count;
      ++parts.back().tree_count;
    }
    parts.back().is_last = true;
  }
  CUFACE_TRY(take(upload(parts), tables->parts));
  CUFACE_TRY(take(upload(nodes), tables->nodes));
  CUFACE_TRY(take(upload(trees), tables->trees));
  CUFACE_TRY(take(upload(model_.leaves), tables->leaves));
  scaled_ = std::move(tables);
  return scaled_;
}

}  // namespace cuface::cuda
