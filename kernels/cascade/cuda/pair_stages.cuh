// How pairs of windows, one above the other, go through a stage.
#pragma once

#include <cstdint>

#include "kernels/cascade/cuda/pair_tables.h"
#include "kernels/cascade/cuda/stages.cuh"

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

/// Adds `leaf` where value * norm is below the threshold, under a predicate. The compiler would
/// choose between the leaf and 0, and add that.
__device__ inline void add_if_below(float product, float threshold, std::int32_t leaf,
                                    std::int32_t& sum) {
  asm("{ .reg .pred p; setp.lt.f32 p, %1, %2; @p add.s32 %0, %0, %3; }"
      : "+r"(sum)
      : "f"(product), "f"(threshold), "r"(leaf));
}

/// What a small node's value is made of, read at `at`, plus 2^15: of both windows.
template <PairShape kShape>
__device__ __forceinline__ std::uint32_t small_value(const std::uint32_t (&word)[6],
                                                     std::uint32_t at) {
  constexpr std::uint32_t kZero = 0x80008000u;
  const auto read = [&](int i) { return shared_word(at + word[i]); };
  if constexpr (kShape == PairShape::kEdge) {
    const std::uint32_t side = read(2) - read(3);
    return (read(0) - read(1) - read(4)) + (2 * side + read(5)) + kZero;
  } else if constexpr (kShape == PairShape::kStripe) {
    const auto far = [&](int i) { return shared_word(at + word[i] + word[4]); };
    const std::uint32_t inner = far(2) - read(2) - far(1) + read(1);
    const std::uint32_t less = far(0) - read(0) - far(3);
    return 3 * inner + (less + read(3) + kZero);
  } else {
    const auto row = [&](int i) {
      const std::uint32_t left = at + word[i];
      return (shared_word(left) + shared_word(left + word[4])) - 2 * shared_word(left + word[3]);
    };
    return ((row(0) + row(2)) - 2 * row(1)) * word[5] + kZero;
  }
}

/// Adds a small node's leaf where the value is below its threshold. Values are exact, hence those
/// of node_value().
template <PairShape kShape, int kPairs>
__device__ __forceinline__ void add_pair_node(const uint4* node, const std::uint32_t (&at)[kPairs],
                                              const Two<float> (&norm)[kPairs],
                                              Two<std::int32_t> (&sum)[kPairs]) {
  const uint4 head = node[0], tail = node[1];
  const float threshold = __uint_as_float(head.x);
  const auto leaf = static_cast<std::int32_t>(head.y);
  const std::uint32_t word[6] = {head.z, head.w, tail.x, tail.y, tail.z, tail.w};
#pragma unroll
  for (int u = 0; u < kPairs; ++u) {
    const std::uint32_t value = small_value<kShape>(word, at[u]);
    constexpr float kZero = 8388608.0f + 32768.0f;
    add_if_below((upper_half(value) - kZero) * norm[u].upper, threshold, leaf, sum[u].upper);
    add_if_below((lower_half(value) - kZero) * norm[u].lower, threshold, leaf, sum[u].lower);
  }
}

/// What every `step`th of `count` large nodes adds, from the n-th on; `nodes` is where they begin
/// in the shared memory. They are few: called, so that there is one piece of code for them.
__device__ __noinline__ Two<std::int32_t> large_leaves(std::uint32_t nodes, int n, int count,
                                                       int step, std::uint32_t at,
                                                       Two<float> norm) {
  constexpr int kSize = pair_node_size(PairShape::kLarge);
  constexpr float kOne = 8388608.0f;  // what halves have above their value
  Two<std::int32_t> sum = {0, 0};
#pragma unroll 1
  for (; n < count; n += step) {
    const auto* node = static_cast<const uint4*>(
        __cvta_shared_to_generic(nodes + static_cast<unsigned>(n * kSize) * sizeof(uint4)));
    const auto rectangle = [&](const uint4& corner) {
      return (shared_word(at + corner.x) - shared_word(at + corner.y)) -
             (shared_word(at + corner.z) - shared_word(at + corner.w));
    };
    const uint4 head = node[0];
    std::uint32_t inner = rectangle(node[1]), rest = rectangle(node[2]), behind = 0;
    if (static_cast<LargeShape>(head.w) == LargeShape::kTwo) {
      inner += rest;
      rest = rectangle(node[3]) - inner;
    } else if (static_cast<LargeShape>(head.w) == LargeShape::kLine) {
      rest -= inner;
    } else {
      behind = rectangle(node[3]);
    }
    // Of 2^23 + v: that, or 2 (2^23 + v) - 2^23, which is exact.
    const float factor = __uint_as_float(head.z);
    const auto value = [&](float inner_half, float rest_half, float behind_half) {
      return (__fmaf_rn(inner_half, factor, kOne - factor * kOne) - rest_half) -
             (behind_half - kOne);
    };
    const float threshold = __uint_as_float(head.x);
    const auto leaf = static_cast<std::int32_t>(head.y);
    add_if_below(value(upper_half(inner), upper_half(rest), upper_half(behind)) * norm.upper,
                 threshold, leaf, sum.upper);
    add_if_below(value(lower_half(inner), lower_half(rest), lower_half(behind)) * norm.lower,
                 threshold, leaf, sum.lower);
  }
  return sum;
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
    constexpr int kSize = pair_node_size(kShape);
    const int count = stage.count[static_cast<int>(kShape)];
    // Two at a time without a question in between, so that the second's reads do not wait.
#pragma unroll 1
    for (; n + slices < count; n += 2 * slices) {
      add_pair_node<kShape>(first + n * kSize, at, norm, sum);
      add_pair_node<kShape>(first + (n + slices) * kSize, at, norm, sum);
    }
    if (n < count) {
      add_pair_node<kShape>(first + n * kSize, at, norm, sum);
      n += slices;
    }
    first += count * kSize;
    n -= count;
  };
  add.template operator()<PairShape::kEdge>();
  add.template operator()<PairShape::kStripe>();
  add.template operator()<PairShape::kChecks>();
  const int large = stage.count[static_cast<int>(PairShape::kLarge)];
  if (n >= large) return;
#pragma unroll
  for (int u = 0; u < kPairs; ++u) {
    const Two<std::int32_t> more =
        large_leaves(static_cast<std::uint32_t>(__cvta_generic_to_shared(first)), n, large, slices,
                     at[u], norm[u]);
    sum[u].upper += more.upper;
    sum[u].lower += more.lower;
  }
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
