#include "models/cascade_file.h"

#include <cstdint>

namespace cuface {
namespace {

// The records of the file: 32-bit fields only, independent of the structs' layout.
struct StageRecord {
  std::int32_t first_tree, tree_count;
  float threshold;
};
struct TreeRecord {
  std::int32_t first_node, node_count, first_leaf, leaf_count;
};
struct NodeRecord {
  std::int32_t feature;
  float threshold;
  std::int32_t left, right;
};
struct RectRecord {
  std::int32_t x, y, w, h;
  float weight;
};
struct FeatureRecord {
  std::int32_t tilted, rect_count;
  RectRecord rects[3];
};
static_assert(sizeof(StageRecord) == 12 && sizeof(TreeRecord) == 16 && sizeof(NodeRecord) == 16 &&
              sizeof(FeatureRecord) == 68);

constexpr int kMaxWindow = 1 << 15;  // validate() is stricter

}  // namespace

Result<std::shared_ptr<const CascadeModel>> read_cascade_file(const Container& container) {
  const std::string& path = container.file()->path();
  auto model = std::make_shared<CascadeModel>();
  model->name = container.name();
  model->window_width = container.integer("window_width", kMaxWindow);
  model->window_height = container.integer("window_height", kMaxWindow);
  for (const StageRecord& r : container.block<StageRecord>("stages")) {
    model->stages.push_back({r.first_tree, r.tree_count, r.threshold});
  }
  for (const TreeRecord& r : container.block<TreeRecord>("trees")) {
    model->trees.push_back({r.first_node, r.node_count, r.first_leaf, r.leaf_count});
  }
  for (const NodeRecord& r : container.block<NodeRecord>("nodes")) {
    model->nodes.push_back({r.feature, r.threshold, r.left, r.right});
  }
  const std::span<const float> leaves = container.block<float>("leaves");
  model->leaves.assign(leaves.begin(), leaves.end());
  for (const FeatureRecord& r : container.block<FeatureRecord>("features")) {
    HaarFeature feature{r.tilted != 0, r.rect_count, {}};
    for (int i = 0; i < 3; ++i) {
      feature.rects[i] = {r.rects[i].x, r.rects[i].y, r.rects[i].w, r.rects[i].h,
                          r.rects[i].weight};
    }
    model->features.push_back(feature);
  }
  if (const Status status = validate(*model); !status.ok()) {
    return Status(status.code(), path + ": not a usable cascade: " + status.message());
  }
  return std::shared_ptr<const CascadeModel>(std::move(model));
}

Status write_cascade_file(const CascadeModel& model, const Provenance& source,
                          const std::string& path) {
  std::vector<StageRecord> stages;
  for (const HaarStage& s : model.stages) {
    stages.push_back({s.first_tree, s.tree_count, s.threshold});
  }
  std::vector<TreeRecord> trees;
  for (const HaarTree& t : model.trees) {
    trees.push_back({t.first_node, t.node_count, t.first_leaf, t.leaf_count});
  }
  std::vector<NodeRecord> nodes;
  for (const HaarNode& n : model.nodes) nodes.push_back({n.feature, n.threshold, n.left, n.right});
  std::vector<FeatureRecord> features;
  for (const HaarFeature& f : model.features) {
    FeatureRecord record{f.tilted ? 1 : 0, f.rect_count, {}};
    for (int i = 0; i < 3; ++i) {
      record.rects[i] = {f.rects[i].x, f.rects[i].y, f.rects[i].w, f.rects[i].h, f.rects[i].weight};
    }
    features.push_back(record);
  }
  return write_container(
      path, "cascade",
      {{"window_width", model.window_width}, {"window_height", model.window_height}}, source,
      {block_of("stages", std::span<const StageRecord>(stages)),
       block_of("trees", std::span<const TreeRecord>(trees)),
       block_of("nodes", std::span<const NodeRecord>(nodes)),
       block_of("leaves", std::span<const float>(model.leaves)),
       block_of("features", std::span<const FeatureRecord>(features))});
}

}  // namespace cuface
