// How a window goes through a stage on CUDA: in integers, as in the CPU's vector code. Where the
// integers do not decide, the definition does.
#pragma once

#include <cstdint>

#include "kernels/cascade/cuda/search.h"
#include "kernels/cascade/evaluate.h"
#include "kernels/common/cuda/warp.cuh"

namespace cuface::cuda {

/// The sums of a tile, made by the block that searches it.
extern __shared__ std::uint32_t tile_sums[];

/// The word some bytes behind a window's first, which is so many bytes from the first of tile_sums.
__device__ inline const std::uint32_t* pointer(int corner, int bytes = 0) {
  return reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const char*>(tile_sums) +
                                                (corner + bytes));
}

/// Where a byte of tile_sums lies in the shared memory, such that the compiler adds nothing to it.
/// What a node adds is the same for a whole warp, so the read can add it.
__device__ inline std::uint32_t shared_address(int bytes) {
  auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(tile_sums)) +
                 static_cast<std::uint32_t>(bytes);
  asm volatile("" : "+r"(address));
  return address;
}
__device__ inline std::uint32_t shared_word(std::uint32_t address) {
  return *static_cast<const std::uint32_t*>(__cvta_shared_to_generic(address));
}

/// The sum over a window less a border of one pixel.
__device__ inline std::uint32_t inner_sum(int corner, const std::int32_t (&border)[4]) {
  return *pointer(corner, border[0]) - *pointer(corner, border[1]) - *pointer(corner, border[2]) +
         *pointer(corner, border[3]);
}

/// A node's value before it is multiplied by the norm: bit for bit that of BoundFeature::value,
/// except that 0 may be -0.
template <NodeShape kShape>
__device__ float node_value(const SearchNode& node, int at) {
  const auto read = [&](int i) { return *pointer(at, node.corner[i]); };
  if constexpr (kShape == NodeShape::kGeneral) {
    const auto sum = [&](int r) {
      return static_cast<float>(static_cast<std::int32_t>(read(4 * r) - read(4 * r + 1) -
                                                          read(4 * r + 2) + read(4 * r + 3)));
    };
    return node.weight[0] * sum(0) + node.weight[1] * sum(1) + node.weight[2] * sum(2);
  } else {
    const std::uint32_t outer = (read(0) + read(1)) - (read(2) + read(3));
    const std::uint32_t inner =
        kShape == NodeShape::kEdge ? read(4) - read(5) : (read(4) + read(5)) - (read(6) + read(7));
    return static_cast<float>(
        static_cast<std::int32_t>(outer + (kShape == NodeShape::kLine3 ? 3 : 2) * inner));
  }
}

/// What a node of a tree of one node is made of, read 16 bytes at a time.
template <NodeShape kShape>
__device__ SearchNode fetch(const SearchNode* node) {
  SearchNode out;
  const uint4* from = reinterpret_cast<const uint4*>(node);
  uint4* to = reinterpret_cast<uint4*>(&out);
  constexpr int kQuads = kShape == NodeShape::kGeneral ? 5 : 3;
#pragma unroll
  for (int i = 0; i < kQuads; ++i) to[i] = __ldg(from + i);
  return out;
}

template <NodeShape kShape, int kWindows>
__device__ void add_stump(const SearchNode& node, const int (&at)[kWindows],
                          const float (&norm)[kWindows], std::int32_t (&sum)[kWindows]) {
#pragma unroll
  for (int u = 0; u < kWindows; ++u)
    if (node_value<kShape>(node, at[u]) * norm[u] < node.threshold) sum[u] += node.left_leaf;
}

/// Adds the leaves of trees of one node and one shape: every `step`th of them.
template <NodeShape kShape, int kWindows>
__device__ void add_stumps(const SearchNode* nodes, int first, int end, int step,
                           const int (&at)[kWindows], const float (&norm)[kWindows],
                           std::int32_t (&sum)[kWindows]) {
#pragma unroll 4 / kWindows
  for (int n = first; n < end; n += step)
    add_stump<kShape>(fetch<kShape>(nodes + n), at, norm, sum);
}

/// The leaf that a window reaches in a tree of several nodes.
__device__ inline std::int32_t leaf_of(const SearchNode* tree, int at, float norm) {
  for (const SearchNode* node = tree;;) {
    const float value =
        node->shape == NodeShape::kGeneral ? node_value<NodeShape::kGeneral>(*node, at)
        : node->shape == NodeShape::kEdge  ? node_value<NodeShape::kEdge>(*node, at)
        : node->shape == NodeShape::kLine2 ? node_value<NodeShape::kLine2>(*node, at)
                                           : node_value<NodeShape::kLine3>(*node, at);
    const bool left = value * norm < node->threshold;
    const int child = left ? node->left : node->right;
    if (child == 0) return left ? node->left_leaf : node->right_leaf;
    node = tree + child;
  }
}

/// Adds the leaves of a stage's trees to `sum`: the part `slice` of `slices`.
template <int kWindows>
__device__ void add_leaves(const CascadeView& cascade, const SearchStage& stage, int slice,
                           int slices, const int (&at)[kWindows], const float (&norm)[kWindows],
                           std::int32_t (&sum)[kWindows]) {
  if (slice == 0)
    for (std::int32_t& s : sum) s += stage.base;
  const auto add = [&]<NodeShape kShape>(int first, int end) {
    add_stumps<kShape>(cascade.nodes, first + slice, end, slices, at, norm, sum);
  };
  add.template operator()<NodeShape::kEdge>(stage.first_node, stage.end[0]);
  add.template operator()<NodeShape::kLine2>(stage.end[0], stage.end[1]);
  add.template operator()<NodeShape::kLine3>(stage.end[1], stage.end[2]);
  add.template operator()<NodeShape::kGeneral>(stage.end[2], stage.end[3]);
  if (stage.stumps) return;
  for (int t = slice; t < stage.tree_count; t += slices) {
    const SearchNode* tree = cascade.nodes + cascade.trees[stage.first_tree + t].first_node;
#pragma unroll
    for (int u = 0; u < kWindows; ++u) sum[u] += leaf_of(tree, at[u], norm[u]);
  }
}

/// By the definition, the threads of a warp a tree each at a time. The same in all threads.
__device__ __noinline__ bool passes_by_definition(CascadeView cascade, const SearchStage& stage,
                                                  const std::uint32_t* corner, float norm) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  double sum = 0;
  for (int first = 0; first < stage.tree_count; first += kWarp) {
    const int count = min(kWarp, stage.tree_count - first);
    float value = 0;
    if (lane < count) {
      const CascadeView::Tree tree = cascade.trees[stage.first_tree + first + lane];
      value = tree_value(cascade.exact_nodes + tree.first_node, cascade.leaves + tree.first_leaf,
                         corner, norm);
    }
    sum = add_in_order(sum, value, count);
  }
  return !(sum < stage.threshold);
}

/// The threads, of a whole warp, whose windows pass the stage: `sum` is that of all its trees. Of
/// windows that are not `live` nothing is asked. Counts in `exact` those that the definition
/// decided.
__device__ inline unsigned passing(const CascadeView& cascade, const SearchStage& stage, int at,
                                   float norm, std::int32_t sum, bool live, std::uint32_t* exact) {
  unsigned pass = __ballot_sync(kAllLanes, live && sum >= stage.passes);
  unsigned open = __ballot_sync(kAllLanes, live && sum >= stage.fails && sum < stage.passes);
  if (open != 0 && threadIdx.x % kWarp == 0)
    atomicAdd(exact, static_cast<std::uint32_t>(__popc(open)));
  for (; open != 0; open &= open - 1) {
    const int lane = __ffs(static_cast<int>(open)) - 1;
    const int window = __shfl_sync(kAllLanes, at, lane);
    const float window_norm = __shfl_sync(kAllLanes, norm, lane);
    if (passes_by_definition(cascade, stage, pointer(window), window_norm)) pass |= 1u << lane;
  }
  return pass;
}

}  // namespace cuface::cuda
