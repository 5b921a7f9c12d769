// The tables of a cascade that vector code reads, on the CPU and on CUDA.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cascade/cascade.h"

namespace cuface {

/// How the value of a node is computed. Two rectangles with the weights -1 and 2 or 3 are sums of
/// corners in integers, in which shared corners fall together. Both this and the float arithmetic
/// are exact, unless windows are so large that sums pass 2^24.
enum class NodeShape : std::int32_t {
  kGeneral,  ///< floats, by the weights
  kEdge,     ///< (c0 + c1) - (c2 + c3) + 2 (c4 - c5)
  kLine2,    ///< (c0 + c1) - (c2 + c3) + 2 ((c4 + c5) - (c6 + c7))
  kLine3,    ///< the same with 3
};

/// A node with its leaves as integers: multiples of the stage's unit, rounded.
struct VectorNode {
  std::int32_t corner[12];  ///< kGeneral: four of each rectangle
  NodeShape shape;
  /// The value fits 16 bits, or with kGeneral each rectangle's sum does. Only of
  /// VectorSums::kShorts.
  bool is_short;
  float weight[3];
  float threshold;
  int left, right;  ///< a later node of the tree, or 0 = the leaf
  std::int32_t left_leaf, right_leaf;
};

/// A stage's sum is computed in integers, from rounded leaves. The rounding changes it by less than
/// the distance of `fails` and `passes` from the threshold. A sum below `fails` fails, one from
/// `passes` on passes; the definition decides what lies between.
struct VectorStage {
  const VectorNode* nodes;
  /// Nodes of each tree. Null where all have one: then `base` is the sum of all right leaves, and
  /// left leaves are without them.
  const int* tree_nodes;
  int tree_count;
  std::int32_t base;
  std::int32_t fails, passes;
};

/// The sums that make up a node's value.
enum class VectorSums {
  kWords,   ///< of 32 bits
  kShorts,  ///< of 16 where that is exact; the cascade must be bound
};

/// The nodes of a cascade, as it is bound, and its stages, which point to them.
class VectorTables {
 public:
  VectorTables(const BoundCascade& cascade, VectorSums sums);
  VectorTables(const VectorTables&) = delete;
  VectorTables& operator=(const VectorTables&) = delete;

  const std::vector<VectorNode>& nodes() const { return nodes_; }
  const std::vector<VectorStage>& stages() const { return stages_; }
  int most_nodes() const { return most_nodes_; }  ///< of a tree

 private:
  void add_stage(const BoundCascade& cascade, const BoundCascade::Stage& stage, VectorSums sums,
                 bool has_tilted);

  std::vector<VectorNode> nodes_;
  std::vector<int> tree_nodes_;
  std::vector<VectorStage> stages_;
  int most_nodes_ = 0;
};

}  // namespace cuface
