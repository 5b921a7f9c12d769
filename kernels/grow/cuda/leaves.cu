#include <algorithm>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/grow/cuda/leaves.h"
#include "kernels/grow/steps.h"

namespace cuface::cuda::grow {
namespace {

using cuface::grow::SpreadSums;

constexpr int kThreads = 256;
constexpr unsigned kMostBlocks = 65535;
/// Samples of a block that adds up spreads.
constexpr int kPiece = 2048;

__device__ void add(std::int64_t& to, std::int64_t more) {
  atomicAdd(reinterpret_cast<unsigned long long*>(&to), static_cast<unsigned long long>(more));
}

__global__ void __launch_bounds__(kThreads)
    walk_kernel(const __grid_constant__ DeviceSamples samples, const ForestSplit* splits, int depth,
                std::uint16_t* leaf_of) {
  const std::uint32_t sample = blockIdx.x * blockDim.x + threadIdx.x;
  if (sample >= samples.count) return;
  int node = 0;
  for (int level = 0; level < depth; ++level)
    node = 2 * node + (samples.goes_left(splits[node], sample) ? 1 : 2);
  leaf_of[sample] = static_cast<std::uint16_t>(node + 1 - (1 << depth));
}

__global__ void __launch_bounds__(kThreads)
    absent_kernel(const __grid_constant__ DeviceSamples samples, const std::uint16_t* leaf_of,
                  std::uint64_t* absent) {
  const std::uint32_t sample = blockIdx.x * blockDim.x + threadIdx.x;
  if (sample >= samples.count) return;
  const int landmarks = samples.size / 2;
  std::uint64_t* const of_leaf =
      absent + std::size_t{leaf_of[sample]} * static_cast<std::size_t>(landmarks);
  const std::uint32_t face = sample / samples.amount;
  for (int i = 0; i < landmarks; ++i) {
    if (samples.has(face, 2 * i)) continue;
    atomicAdd(reinterpret_cast<unsigned long long*>(of_leaf + i),
              static_cast<unsigned long long>(samples.weight(sample)));
  }
}

/// A thread has a quad after the other.
__global__ void __launch_bounds__(kThreads)
    subtract_kernel(const __grid_constant__ DeviceSamples samples, const std::uint16_t* leaf_of,
                    const std::int32_t* steps) {
  const auto quads = static_cast<std::uint32_t>(samples.stride / DeviceSamples::kQuad);
  const std::uint32_t all = samples.count * quads, threads = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += threads) {
    const std::uint32_t sample = i / quads, quad = i % quads, face = sample / samples.amount;
    auto* const row = reinterpret_cast<int4*>(samples.rows) + i;
    const int4 by = reinterpret_cast<const int4*>(
        steps + std::size_t{leaf_of[sample]} * static_cast<std::size_t>(samples.stride))[quad];
    const auto after = [&](std::int32_t value, std::int32_t less, int k) {
      return k < samples.size && samples.has(face, k) ? cuface::grow::after_leaf(value, less)
                                                      : value;
    };
    const int k = static_cast<int>(quad) * DeviceSamples::kQuad;
    const int4 values = *row;
    *row = {after(values.x, by.x, k), after(values.y, by.y, k + 1), after(values.z, by.z, k + 2),
            after(values.w, by.w, k + 3)};
  }
}

/// In the order of the trees. A warp has a sample after the other.
__global__ void __launch_bounds__(kThreads)
    shapes_kernel(const __grid_constant__ DeviceSamples samples,
                  const __grid_constant__ LackedTrees trees) {
  const std::uint32_t warps = blockDim.x / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (std::uint32_t sample = blockIdx.x * warps + threadIdx.x / kWarp; sample < samples.count;
       sample += gridDim.x * warps) {
    float* const shape = samples.shapes + samples.shape(sample);
    for (int k = lane; k < samples.size; k += kWarp) {
      float value = shape[k];
#pragma unroll 4
      for (int tree = 0; tree < trees.count; ++tree) {
        const std::size_t leaf =
            trees.leaf_of[static_cast<std::size_t>(tree) * samples.padded + sample];
        value += trees.leaves[static_cast<std::size_t>(tree) * trees.of_tree +
                              leaf * static_cast<std::size_t>(samples.size) +
                              static_cast<std::size_t>(k)];
      }
      shape[k] = value;
    }
  }
}

/// A block has the samples of one leaf in one piece of all; a thread has a landmark of some of
/// them.
__global__ void __launch_bounds__(kThreads)
    spreads_kernel(const __grid_constant__ DeviceSamples samples, const std::uint16_t* leaf_of,
                   SpreadSums* sums) {
  __shared__ std::uint16_t own[kPiece];
  __shared__ int count;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int landmarks = samples.size / 2, leaf = static_cast<int>(blockIdx.y);
  const std::uint32_t first = blockIdx.x * kPiece;
  const int piece = static_cast<int>(min(std::uint32_t{kPiece}, samples.count - first));
  if (thread == 0) count = 0;
  __syncthreads();
  for (int i = thread; i < piece; i += threads)
    if (leaf_of[first + static_cast<std::uint32_t>(i)] == leaf)
      own[atomicAdd(&count, 1)] = static_cast<std::uint16_t>(i);
  __syncthreads();
  const int turns = max(1, threads / landmarks);
  for (int at = thread; at < turns * landmarks; at += threads) {
    const int landmark = at % landmarks;
    SpreadSums sum;
    for (int i = at / landmarks; i < count; i += turns) {
      const std::uint32_t sample = first + own[i];
      if (!samples.has(sample / samples.amount, 2 * landmark)) continue;
      const std::int32_t* const row = samples.rows + samples.row(sample) + 2 * landmark;
      sum.add(row[0], row[1], samples.weight(sample));
    }
    if (sum.weight == 0) continue;
    SpreadSums& to = sums[leaf * landmarks + landmark];
    add(to.x, sum.x);
    add(to.y, sum.y);
    add(to.squares, sum.squares);
    add(to.weight, sum.weight);
  }
}

unsigned parts_of(std::uint32_t all, std::uint32_t each) { return (all + each - 1) / each; }

/// With a warp for each sample, at most so many.
LaunchShape warps_for(const DeviceSamples& samples) {
  return {std::min(parts_of(samples.count, kThreads / kWarp), kMostBlocks), kThreads};
}

}  // namespace

Status walk(const DeviceSamples& samples, const ForestSplit* splits, int depth,
            std::uint16_t* leaf_of, Launcher launch) {
  return launch("walking down a tree", walk_kernel, {parts_of(samples.count, kThreads), kThreads},
                samples, splits, depth, leaf_of);
}

Status add_absent(const DeviceSamples& samples, const std::uint16_t* leaf_of, std::uint64_t* absent,
                  Launcher launch) {
  return launch("adding up absent landmarks", absent_kernel,
                {parts_of(samples.count, kThreads), kThreads}, samples, leaf_of, absent);
}

Status subtract_leaves(const DeviceSamples& samples, const std::uint16_t* leaf_of,
                       const std::int32_t* steps, Launcher launch) {
  constexpr std::uint32_t kQuadsOfThread = 4;
  const std::uint32_t quads =
      samples.count * static_cast<std::uint32_t>(samples.stride / DeviceSamples::kQuad);
  return launch("subtracting leaves", subtract_kernel,
                {parts_of(quads, kThreads * kQuadsOfThread), kThreads}, samples, leaf_of, steps);
}

Status add_to_shapes(const DeviceSamples& samples, const LackedTrees& trees, Launcher launch) {
  return launch("moving shapes", shapes_kernel, warps_for(samples), samples, trees);
}

Status add_spreads(const DeviceSamples& samples, const std::uint16_t* leaf_of, int leaves,
                   SpreadSums* sums, Launcher launch) {
  return launch("adding up spreads", spreads_kernel,
                {dim3(parts_of(samples.count, kPiece), static_cast<unsigned>(leaves)), kThreads},
                samples, leaf_of, sums);
}

}  // namespace cuface::cuda::grow
