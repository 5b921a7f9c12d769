// Pairs of windows, one above the other: their sums, and how they go through a stage.
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

constexpr int kMostEach = 5;  // columns of sums that a thread makes of a row

/// Sums of the tile's pixels as make_sums() has them. Of squares (kSquared), or each with that of a
/// window further down in its upper 16 bits: sum + (sum `step` rows below) * 2^16. What is added
/// and subtracted of such words holds both windows' results, each exact if it lies in 0 .. 65535.
template <bool kSquared>
__device__ void make_pair_sums(ImageView<const std::uint8_t> pixels, int width, int height,
                               int step, int stride) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int threads = static_cast<int>(blockDim.x);
  const auto column = [&](int x) { return (x & (step - 1)) * (stride / 2) + (x >> (step - 1)); };
  // Along the rows.
  for (int x = static_cast<int>(threadIdx.x); x < stride; x += threads) tile_sums[x] = 0;
  const int each = width / kWarp + 1;  // at most kMostEach
  const int begin = lane * each, count = min(each, width + 1 - begin);
  int place[kMostEach];
#pragma unroll
  for (int k = 0; k < kMostEach; ++k) place[k] = column(begin + k);
  const int warps = threads / kWarp;
  constexpr int kRows = 4;  // at a time
  for (int y = static_cast<int>(threadIdx.x) / kWarp; y < height; y += kRows * warps) {
    std::uint32_t v[kRows][kMostEach];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      // Behind the last row comes the last row again.
      const std::uint8_t* in = pixels.row(min(y + r * warps, height - 1)) + begin - 1;
#pragma unroll
      for (int k = 0; k < kMostEach; ++k) v[r][k] = k < count && begin + k > 0 ? __ldg(in + k) : 0;
    }
    std::uint32_t sum[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int k = 0; k < kMostEach; ++k) {
        if (kSquared) v[r][k] *= v[r][k];
        if (k > 0) v[r][k] += v[r][k - 1];
      }
      sum[r] = v[r][kMostEach - 1];
    }
#pragma unroll
    for (int apart = 1; apart < kWarp; apart *= 2)
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const std::uint32_t before =
            __shfl_up_sync(kAllLanes, sum[r], static_cast<unsigned>(apart));
        if (lane >= apart) sum[r] += before;
      }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      std::uint32_t* row = tile_sums + (min(y + r * warps, height - 1) + 1) * stride;
      const std::uint32_t before = sum[r] - v[r][kMostEach - 1];
#pragma unroll
      for (int k = 0; k < kMostEach; ++k)
        if (k < count && y + r * warps < height) row[place[k]] = v[r][k] + before;
    }
  }
  __syncthreads();
  // Down the columns.
  for (int x = static_cast<int>(threadIdx.x); x < stride; x += threads) {
    std::uint32_t* at = tile_sums + x;
    std::uint32_t sum = 0, before = 0;  // at the row in front of y, and one further up
    int y = 1;
    if (!kSquared && step == 2) sum = at[y++ * stride];
    const auto add = [&](std::uint32_t in) {
      const std::uint32_t upper = step == 1 ? sum : before;
      before = sum;
      sum += in;
      at[(kSquared ? y : y - step) * stride] = kSquared ? sum : upper + (sum << 16);
      ++y;
    };
    constexpr int kAhead = 8;
    while (y + kAhead <= height + 1) {
      std::uint32_t in[kAhead];
#pragma unroll
      for (int k = 0; k < kAhead; ++k) in[k] = at[(y + k) * stride];
#pragma unroll
      for (int k = 0; k < kAhead; ++k) add(in[k]);
    }
    while (y <= height) add(at[y * stride]);
    if (kSquared) continue;
    at[height * stride] = sum;
    if (step == 2) at[(height - 1) * stride] = before;
  }
  __syncthreads();
}

/// 2^23 + the half that is of the upper, or of the lower, window.
__device__ inline float upper_half(std::uint32_t v) {
  return __uint_as_float(__byte_perm(v, 0x4b000000, 0x7610));
}
__device__ inline float lower_half(std::uint32_t v) {
  return __uint_as_float(__byte_perm(v, 0x4b000000, 0x7632));
}

/// A pair's first word in the shared memory, such that the compiler adds nothing to it: what a node
/// adds is the same for a whole warp, and reading can do that itself.
__device__ inline std::uint32_t shared_address(int bytes) {
  auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(tile_sums)) +
                 static_cast<std::uint32_t>(bytes);
  asm volatile("" : "+r"(address));
  return address;
}
__device__ inline std::uint32_t shared_word(std::uint32_t address) {
  return *static_cast<const std::uint32_t*>(__cvta_shared_to_generic(address));
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

/// Adds the leaves of a stage's trees, for whole warps: the part `slice` of `slices`, a power of
/// two. The nodes lie in shared memory.
template <int kPairs>
__device__ void add_pair_leaves(const uint4* nodes, const PairStage& stage, int slice, int slices,
                                const std::uint32_t (&at)[kPairs], const Two<float> (&norm)[kPairs],
                                Two<std::int32_t> (&sum)[kPairs]) {
#pragma unroll
  for (int u = 0; u < kPairs; ++u) sum[u].upper = sum[u].lower = slice == 0 ? stage.base : 0;
  const uint4* first = nodes + stage.first;
  int done = 0;
  const auto add = [&]<PairShape kShape>() {
    const int count = stage.count[static_cast<int>(kShape)];
#pragma unroll 2
    for (int n = (slice - done) & (slices - 1); n < count; n += slices)
      add_pair_node<kShape>(first + n * pair_node_size(kShape), at, norm, sum);
    first += count * pair_node_size(kShape);
    done += count;
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
