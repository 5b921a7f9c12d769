// The tables that a search on CUDA reads of a cascade: those of the CPU's vector code, and the
// definition.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/cascade/cascade.h"
#include "kernels/cascade/vector_tables.h"

namespace cuface::cuda {

inline constexpr std::int32_t kWordBytes = sizeof(std::uint32_t);

/// The layouts of sums that a search reads: those of tiles with step 1 and 2, and that of a window
/// alone.
using SearchLayouts = std::array<SumLayout, 3>;

/// A VectorNode in the order in which a device reads it, 16 bytes at a time; corners in bytes.
struct alignas(16) SearchNode {
  float threshold;
  std::int32_t left_leaf, right_leaf;
  std::int16_t left, right;
  std::int32_t corner[12];
  float weight[3];
  NodeShape shape;
};

/// A VectorStage; where all trees have one node, those lie in the order of their shapes.
struct SearchStage {
  std::int32_t first_node;
  std::int32_t end[4];  ///< behind the nodes of edges, lines (2), lines (3), others
  std::int32_t first_tree, tree_count;
  std::int32_t base, fails, passes;
  double threshold;  ///< of the definition
  bool stumps;       ///< else end[] are first_node
};

/// A tree of one node of a window alone, whose sums lie in rows of its width + 1 words. Its value
/// is a sum of rectangles with the weights -1 and two that are here.
struct alignas(16) SurvivorNode {
  static constexpr int kWeightShift = 14;
  float threshold;
  std::int32_t leaf;         ///< the left one less the right one
  std::uint16_t corner[12];  ///< bytes; of those with the index 4 and 8 the upper bits are weights
};

/// A cascade bound to a layout, in device memory; pointers are valid on the device.
struct CascadeView {
  struct Tree {
    std::int32_t first_node, first_leaf;
  };
  const SearchStage* stages;
  const SearchNode* nodes;
  // The definition:
  const Tree* trees;
  const BoundCascade::Node* exact_nodes;
  const float* leaves;
};

/// A bound cascade as tables without pointers.
struct FlatCascade {
  std::vector<SearchStage> stages;
  std::vector<CascadeView::Tree> trees;
  std::vector<float> leaves;
  // Layout after layout:
  std::vector<SearchNode> nodes;
  std::vector<BoundCascade::Node> exact_nodes;
};

/// One for each tree, those of a stage in any order; none where the cascade's nodes are not all
/// such.
std::vector<SurvivorNode> survivor_nodes(const CascadeModel& model);

/// Adds the nodes as they are bound to one more layout. The rest is the same for every layout.
void add_layout(const BoundCascade& cascade, FlatCascade& flat);

}  // namespace cuface::cuda
