// Sums are of integers, so that blocks add to them in any order. A block adds up the samples of one
// node in one piece of all samples; a thread has some coordinates of some splits in its registers.
#include <algorithm>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/grow/cuda/split_sums.h"
#include "kernels/grow/grow.h"
#include "kernels/grow/steps.h"

namespace cuface::cuda::grow {
namespace {

constexpr int kThreads = 256, kMostThreads = 1024;
constexpr int kQuad = DeviceSamples::kQuad;
/// Groups of splits that a block has side by side, which then share the rows that it reads.
constexpr int kMostGroups = 4;
/// Samples of a piece, and about so many of them in its node.
constexpr int kMostPiece = 2048, kRowsOfBlock = 256;

/// To the nodes of this level, by the splits of the level above, and which of their splits send
/// each sample left. Clears the sums.
__global__ void __launch_bounds__(kThreads)
    descend_kernel(const __grid_constant__ DeviceSamples samples,
                   const __grid_constant__ TreeSearch search, int level, std::size_t sums) {
  const std::uint32_t sample = blockIdx.x * blockDim.x + threadIdx.x;
  for (std::size_t i = sample; i < sums; i += std::size_t{gridDim.x} * blockDim.x)
    search.sums[i] = 0;
  if (sample >= samples.count) return;
  int node = 0;
  if (level > 0) {
    const int above = search.node_of[sample];
    const ForestSplit split = search.splits[(1 << (level - 1)) - 1 + above];
    node = 2 * above + (samples.goes_left(split, sample) ? 0 : 1);
  }
  search.node_of[sample] = static_cast<std::uint16_t>(node);
  const ForestSplit* const tests = search.all + static_cast<std::size_t>((1 << level) - 1 + node) *
                                                    static_cast<std::size_t>(search.tests);
  for (int group = 0; group < search.groups(); ++group) {
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < kTestsTogether; ++i) {
      const int test = group * kTestsTogether + i;
      const bool left =
          test == search.tests || (test < search.tests && samples.goes_left(tests[test], sample));
      bits |= static_cast<unsigned>(left) << i;
    }
    search.lefts[static_cast<std::size_t>(group) * samples.padded + sample] =
        static_cast<std::uint8_t>(bits);
  }
}

/// How a block's threads share its work: quads of coordinates, groups of splits, samples in turn.
struct SumShape {
  int quads, groups, turns;
  int piece;  ///< samples
};

template <bool kWeighted>
__global__ void __launch_bounds__(512)
    sums_kernel(const __grid_constant__ DeviceSamples samples,
                const __grid_constant__ TreeSearch search, const __grid_constant__ SumShape shape) {
  __shared__ std::uint16_t own[kMostPiece];
  __shared__ std::uint8_t bits[kMostGroups][kMostPiece], weights[kMostPiece];
  __shared__ int count;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int lane = thread % kWarp, node = static_cast<int>(blockIdx.y);
  const int first_group = static_cast<int>(blockIdx.z) * shape.groups;
  const std::uint32_t first = blockIdx.x * static_cast<std::uint32_t>(shape.piece);
  const int piece =
      static_cast<int>(min(static_cast<std::uint32_t>(shape.piece), samples.count - first));
  if (thread == 0) count = 0;
  __syncthreads();
  // The samples of the node. Whole warps go together; their order does not matter.
  for (int at = thread - lane; at < piece; at += threads) {
    const int i = at + lane;
    const std::uint32_t sample = first + static_cast<std::uint32_t>(i);
    const bool is_own = i < piece && search.node_of[sample] == node;
    const unsigned owners = __ballot_sync(kAllLanes, is_own);
    int place = 0;
    if (lane == 0) place = atomicAdd(&count, __popc(owners));
    place = __shfl_sync(kAllLanes, place, 0) + __popc(owners & ((1u << lane) - 1));
    if (!is_own) continue;
    own[place] = static_cast<std::uint16_t>(i);
    if constexpr (kWeighted) weights[place] = static_cast<std::uint8_t>(samples.weight(sample));
    for (int group = 0; group < shape.groups; ++group)
      if (first_group + group < search.groups())
        bits[group][place] =
            search.lefts[static_cast<std::size_t>(first_group + group) * samples.padded + sample];
  }
  __syncthreads();
  const int quad = thread % shape.quads, rest = thread / shape.quads;
  const int group = rest % shape.groups, turn = rest / shape.groups;
  if (turn >= shape.turns || first_group + group >= search.groups()) return;
  std::int64_t negated[kTestsTogether][kQuad] = {};
  const std::int32_t* const rows = samples.rows + samples.row(first) + quad;
#pragma unroll 4
  for (int i = turn; i < count; i += shape.turns) {
    const std::int32_t* const row =
        rows + static_cast<std::size_t>(own[i]) * static_cast<std::size_t>(samples.stride);
    std::int32_t values[kQuad];
#pragma unroll
    for (int k = 0; k < kQuad; ++k) values[k] = row[k * shape.quads];
    const int left = bits[group][i];
    const int weight = kWeighted ? weights[i] : 1;
#pragma unroll
    for (int test = 0; test < kTestsTogether; ++test) {
      // Not above 0: a signed product of 32 bits and its addition are one instruction.
      const std::int32_t factor = -(left >> test & 1) * weight;
#pragma unroll
      for (int k = 0; k < kQuad; ++k)
        negated[test][k] += static_cast<std::int64_t>(values[k]) * factor;
    }
  }
#pragma unroll
  for (int i = 0; i < kTestsTogether; ++i) {
    const int test = (first_group + group) * kTestsTogether + i;
    if (test > search.tests) break;
    std::int64_t* const to = search.sums + search.sums_of(node, test, samples.stride) + quad;
#pragma unroll
    for (int k = 0; k < kQuad; ++k) {
      if (negated[i][k] == 0) continue;
      atomicAdd(reinterpret_cast<unsigned long long*>(to + k * shape.quads),
                static_cast<unsigned long long>(-negated[i][k]));
    }
  }
}

/// split_score() by a whole warp: lanes of the lower half have parts of the left side, the others
/// those of the right one.
__device__ double score_of(const std::int64_t* all, const std::int64_t* left, int size) {
  using cuface::grow::kScoreParts;
  static_assert(2 * kScoreParts == kWarp);
  const std::int64_t left_weight = left[size], right_weight = all[size] - left_weight;
  if (left_weight == 0 || right_weight == 0) return -1;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const bool is_right = lane >= kScoreParts;
  double sum = 0;
  for (int i = lane % kScoreParts; i < size; i += kScoreParts) {
    const auto value = static_cast<double>(is_right ? all[i] - left[i] : left[i]);
    sum += value * value;
  }
#pragma unroll
  for (int apart = kScoreParts / 2; apart > 0; apart /= 2)
    sum += __shfl_down_sync(kAllLanes, sum, apart);
  const double squares = __shfl_sync(kAllLanes, sum, 0);
  const double right_squares = __shfl_sync(kAllLanes, sum, kScoreParts);
  return squares / static_cast<double>(left_weight) +
         right_squares / static_cast<double>(right_weight);
}

/// A block takes the best split of a node; a warp has some of the splits.
__global__ void __launch_bounds__(kMostThreads)
    best_kernel(const __grid_constant__ DeviceSamples samples,
                const __grid_constant__ TreeSearch search, int level) {
  __shared__ double scores[cuface::kMostTestSplits];
  __shared__ int found;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int node = static_cast<int>(blockIdx.x), stride = samples.stride;
  const std::int64_t* const all = search.sums + search.sums_of(node, search.tests, stride);
  for (int test = thread / kWarp; test < search.tests; test += threads / kWarp) {
    const double score =
        score_of(all, search.sums + search.sums_of(node, test, stride), samples.size);
    if (thread % kWarp == 0) scores[test] = score;
  }
  __syncthreads();
  const int number = (1 << level) - 1 + node;
  if (thread == 0) {
    int best = 0;
    double most = -1;
    for (int test = 0; test < search.tests; ++test) {
      if (!(scores[test] > most)) continue;
      most = scores[test];
      best = test;
    }
    found = best;
    search.splits[number] =
        search.all[static_cast<std::size_t>(number) * static_cast<std::size_t>(search.tests) +
                   static_cast<std::size_t>(best)];
  }
  if (level + 1 < search.depth) return;
  __syncthreads();
  const std::int64_t* const left = search.sums + search.sums_of(node, found, stride);
  std::int64_t* const leaves =
      search.leaf_sums + static_cast<std::size_t>(2 * node) * static_cast<std::size_t>(stride);
  for (int k = thread; k < stride; k += threads) {
    leaves[k] = left[k];
    leaves[stride + k] = all[k] - left[k];
  }
}

__global__ void __launch_bounds__(kThreads)
    leaves_kernel(const __grid_constant__ DeviceSamples samples, const std::int64_t* leaf_sums,
                  const std::uint64_t* absent, double nu, float* leaves) {
  const std::size_t leaf = blockIdx.x;
  const std::int64_t* const sums = leaf_sums + leaf * static_cast<std::size_t>(samples.stride);
  for (int k = static_cast<int>(threadIdx.x); k < samples.size; k += static_cast<int>(blockDim.x)) {
    std::int64_t weight = sums[samples.size];
    if (absent)
      weight -= static_cast<std::int64_t>(absent[leaf * static_cast<std::size_t>(samples.size / 2) +
                                                 static_cast<std::size_t>(k / 2)]);
    leaves[leaf * static_cast<std::size_t>(samples.size) + static_cast<std::size_t>(k)] =
        cuface::grow::leaf_value(sums[k], weight, nu);
  }
}

unsigned parts_of(std::size_t all, std::size_t each) {
  return static_cast<unsigned>((all + each - 1) / each);
}

}  // namespace

Status search_level(const DeviceSamples& samples, const TreeSearch& search, int level,
                    Launcher launch) {
  const int nodes = 1 << level;
  const std::size_t sums = search.sums_of(nodes, 0, samples.stride);
  CUFACE_TRY(launch("trying splits", descend_kernel, {parts_of(samples.count, kThreads), kThreads},
                    samples, search, level, sums));
  SumShape shape;
  shape.quads = samples.stride / kQuad;
  shape.groups = std::clamp(2 * kThreads / shape.quads, 1, std::min(kMostGroups, search.groups()));
  shape.turns = std::max(1, kThreads / (shape.quads * shape.groups));
  shape.piece = std::min(kMostPiece, kRowsOfBlock * nodes);
  const unsigned threads =
      parts_of(static_cast<std::size_t>(shape.quads * shape.groups * shape.turns), kWarp) * kWarp;
  const dim3 grid(
      parts_of(samples.count, static_cast<std::size_t>(shape.piece)), static_cast<unsigned>(nodes),
      parts_of(static_cast<std::size_t>(search.groups()), static_cast<std::size_t>(shape.groups)));
  CUFACE_TRY(launch("adding up residuals", samples.weights ? sums_kernel<true> : sums_kernel<false>,
                    {grid, threads}, samples, search, shape));
  const int warps = std::min(search.tests, kMostThreads / kWarp);
  return launch("taking the best splits", best_kernel,
                {static_cast<unsigned>(nodes), static_cast<unsigned>(warps * kWarp)}, samples,
                search, level);
}

Status make_leaves(const DeviceSamples& samples, const TreeSearch& search,
                   const std::uint64_t* absent, double nu, float* leaves, Launcher launch) {
  return launch("making leaves", leaves_kernel, {1u << search.depth, kThreads}, samples,
                search.leaf_sums, absent, nu, leaves);
}

}  // namespace cuface::cuda::grow
