// How pairs of windows, one above the other, go through a stage.
#pragma once

#include <cstdint>

#include "kernels/cascade/pairs_cuda.h"
#include "kernels/cascade/stages_cuda.cuh"

namespace cuface::cuda {

/// What a pair has two of: of the upper window, of the lower one.
template <typename T>
struct alignas(2 * sizeof(T)) Two {
  T upper, lower;
};

/// 2^23 + the half that is of the upper, or of the lower, window.
__device__ inline float upper_half(std::uint32_t v) {
  return __uint_as_float(__byte_perm(v, 0x4b000000, 0x7610));
}
__device__ inline float lower_half(std::uint32_t v) {
  return __uint_as_float(__byte_perm(v, 0x4b000000, 0x7632));
}

/// Adds a node's leaf where the value is below its threshold. Values are exact, hence those of
/// node_value().
template <PairShape kShape, int kPairs>
__device__ void add_pair_node(const uint4* node, const std::uint32_t (&at)[kPairs],
                              const Two<float> (&norm)[kPairs], Two<std::int32_t> (&sum)[kPairs]) {
  constexpr int kSize = pair_node_size(kShape), kHead = kShape == PairShape::kEdge ? 2 : 4;
  std::uint32_t word[4 * kSize];
#pragma unroll
  for (int i = 0; i < kSize; ++i) {
    const uint4 four = node[i];
    word[4 * i] = four.x;
    word[4 * i + 1] = four.y;
    word[4 * i + 2] = four.z;
    word[4 * i + 3] = four.w;
  }
  const float threshold = __uint_as_float(word[0]);
  const auto leaf = static_cast<std::int32_t>(word[1]);
#pragma unroll
  for (int u = 0; u < kPairs; ++u) {
    const auto read = [&](int i) { return shared_word(at[u] + word[kHead + i]); };
    const auto rectangle = [&](int i) {
      return (read(i) - read(i + 1) - read(i + 2)) + read(i + 3);
    };
    const auto compare = [&](float upper, float lower) {
      if (upper * norm[u].upper < threshold) sum[u].upper += leaf;
      if (lower * norm[u].lower < threshold) sum[u].lower += leaf;
    };
    // Of 2^23 + v: that, or 2 (2^23 + v) - 2^23, which is exact.
    const auto times = [&](float half) {
      return __fmaf_rn(half, __uint_as_float(word[2]), __uint_as_float(word[3]));
    };
    if constexpr (kShape == PairShape::kWide3) {
      std::uint32_t end[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) end[i] = read(2 * i) - read(2 * i + 1);
      const std::uint32_t before = end[0] - end[1], inner = end[1] - end[2],
                          behind = end[2] - end[3];
      const auto value = [&](float inner_half, float before_half, float behind_half) {
        return (times(inner_half) - before_half) - (behind_half - 8388608.0f);
      };
      compare(value(upper_half(inner), upper_half(before), upper_half(behind)),
              value(lower_half(inner), lower_half(before), lower_half(behind)));
      continue;
    }
    std::uint32_t inner, rest;
    if constexpr (kShape == PairShape::kEdge) {
      const std::uint32_t side = read(2) - read(3);
      inner = read(0) - read(1) + side;
      rest = read(4) - read(5) - side;
    } else if constexpr (kShape == PairShape::kTwo) {
      inner = rectangle(0) + rectangle(4);
      rest = rectangle(8) - inner;
    } else {
      inner = rectangle(0);
      rest = rectangle(4) - inner;
    }
    const auto value = [&](float inner_half, float rest_half) {
      return (kShape == PairShape::kLine ? times(inner_half) : inner_half) - rest_half;
    };
    compare(value(upper_half(inner), upper_half(rest)), value(lower_half(inner), lower_half(rest)));
  }
}

/// Adds the leaves of a stage's trees, for whole warps: the part `slice` of `slices`. The nodes lie
/// in shared memory.
template <int kPairs>
__device__ void add_pair_leaves(const uint4* nodes, const PairStage& stage, int slice, int slices,
                                const std::uint32_t (&at)[kPairs], const Two<float> (&norm)[kPairs],
                                Two<std::int32_t> (&sum)[kPairs]) {
#pragma unroll
  for (int u = 0; u < kPairs; ++u) sum[u].upper = sum[u].lower = slice == 0 ? stage.base : 0;
  const uint4* first = nodes + stage.first;
  int n = slice;
  const auto add = [&]<PairShape kShape>() {
    const int count = stage.count[static_cast<int>(kShape)];
#pragma unroll 2
    for (; n < count; n += slices)
      add_pair_node<kShape>(first + n * pair_node_size(kShape), at, norm, sum);
    first += count * pair_node_size(kShape);
    n -= count;
  };
  add.template operator()<PairShape::kEdge>();
  add.template operator()<PairShape::kLine>();
  add.template operator()<PairShape::kWide3>();
  add.template operator()<PairShape::kTwo>();
}

/// By the definition, from the pixels, a window at a time by a whole warp: for what the sums do not
/// decide and cannot wait. `cascade` is bound to a window alone.
__device__ __noinline__ bool passes_by_pixels(CascadeView cascade, const SearchStage& stage,
                                              const std::uint8_t* pixels, std::ptrdiff_t stride,
                                              int patch_stride, float norm) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const auto sum_of = [&](const std::int32_t(&corner)[4]) {
    const int left = corner[0] % patch_stride, top = corner[0] / patch_stride;
    const int width = corner[3] % patch_stride - left, height = corner[3] / patch_stride - top;
    int sum = 0;
    for (int i = lane; i < width * height; i += kWarp)
      sum += pixels[(top + i / width) * stride + left + i % width];
    for (int apart = kWarp / 2; apart > 0; apart /= 2)
      sum += __shfl_xor_sync(kAllLanes, sum, apart);
    return static_cast<float>(sum);
  };
  double sum = 0;
  for (int t = 0; t < stage.tree_count; ++t) {
    const CascadeView::Tree tree = cascade.trees[stage.first_tree + t];
    const BoundCascade::Node& node = cascade.exact_nodes[tree.first_node];
    const BoundFeature& f = node.feature;
    float value = f.weight[0] * sum_of(f.corner[0]) + f.weight[1] * sum_of(f.corner[1]);
    if (f.weight[2] != 0.0f) value = value + f.weight[2] * sum_of(f.corner[2]);
    const int child = value * norm < node.threshold ? node.left : node.right;
    sum += static_cast<double>(cascade.leaves[tree.first_leaf - child]);
  }
  return !(sum < stage.threshold);
}

}  // namespace cuface::cuda
