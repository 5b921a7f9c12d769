// A cascade's tables in device memory, as the searches of one detector share them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/cascade/cascade.h"
#include "kernels/cascade/cuda/pair_tables.h"
#include "kernels/cascade/cuda/search_tables.h"
#include "kernels/common/cuda/runtime.h"
#include "kernels/common/status.h"

namespace cuface::cuda {

/// A cascade bound to such layouts, in device memory. Immutable; shared by any searches of the
/// context in which it was made.
struct DeviceTables {
  SearchLayouts layouts;
  bool has_survivors = false;  ///< nodes for survivors and for pairs
  DeviceBuffer<SearchStage> stages;
  DeviceBuffer<SearchNode> nodes;  ///< layout after layout, as exact_nodes
  DeviceBuffer<CascadeView::Tree> trees;
  DeviceBuffer<BoundCascade::Node> exact_nodes;
  DeviceBuffer<float> leaves;
  DeviceBuffer<SurvivorNode> survivor_nodes;
  DeviceBuffer<uint4> pair_words;
  std::int32_t node_count = 0;  ///< of one layout

  CascadeView view(int layout) const;
};

/// Trees of one stage that a block binds together for scaled windows: all of a stage, or a part.
struct ScaledPart {
  std::int32_t first_node, node_count, first_tree, tree_count;
  double threshold;              ///< of the stage, as BoundCascade::Stage
  std::int32_t begins, is_last;  ///< whether it is the stage's first part, and its last
};

/// A node with its feature as the file has it.
struct ScaledNode {
  HaarFeature feature;
  float threshold;
  std::int32_t left, right;  ///< as HaarNode
};

/// A cascade that is not bound, in device memory. Immutable; shared by any searches of the context
/// in which it was made.
struct ScaledTables {
  static constexpr int kMostNodes = 256;  ///< of a part; no tree has more

  DeviceBuffer<ScaledPart> parts;
  DeviceBuffer<ScaledNode> nodes;
  DeviceBuffer<CascadeView::Tree> trees;
  DeviceBuffer<float> leaves;
};

/// Makes the tables that searches ask for, each of them once. Plan time only; one thread at a time.
/// May throw std::bad_alloc.
class DeviceCascade {
 public:
  /// The model must outlive it.
  explicit DeviceCascade(const CascadeModel& model) : model_(model) {}

  const CascadeModel& model() const { return model_; }
  /// The first stages for a search in pairs; `layouts` are the same for every search that asks.
  const PairNodes& pairs(const SearchLayouts& layouts, int most_stages);
  /// Uploads and waits for it, or gives what an earlier search with these layouts was given.
  /// `has_survivors`: with the nodes for survivors, and those of pairs() if it was asked.
  Result<std::shared_ptr<const DeviceTables>> tables(const SearchLayouts& layouts,
                                                     bool has_survivors);
  /// The same for searches of scaled windows.
  Result<std::shared_ptr<const ScaledTables>> scaled_tables();

 private:
  Status make(DeviceTables& tables);

  const CascadeModel& model_;
  std::optional<PairNodes> pairs_;
  std::vector<uint4> pair_words_;
  std::vector<std::shared_ptr<const DeviceTables>> made_;
  std::shared_ptr<const ScaledTables> scaled_;
};

}  // namespace cuface::cuda
