#include <algorithm>

#include "kernels/flow/cuda/block_patch.cuh"
#include "kernels/flow/cuda/lucas_kanade.h"
#include "kernels/flow/cuda/quads.cuh"
#include "kernels/flow/follow.h"

namespace cuface::cuda {
namespace {

using namespace flow_steps;

constexpr int kMaxBlocks = 2048;

/// The window that nearly everybody uses, and how many warps follow a point with it.
constexpr int kUsualWindow = FlowConfig{}.window, kUsualWarps = 4;

/// The two pyramids of a frame.
struct Pictures {
  Picture level[2][GaussianPyramid::kMaxLevels];
};

/// One of them, as follow() wants it.
struct Levels {
  const Picture* levels;
  __device__ Picture level(int i) const { return levels[i]; }
};

static_assert(BlockPatch::bytes(63) + sizeof(BlockSum<BlockPatch::kWarps>::Parts) <= 48 * 1024);

/// A block follows one point after the other: all of its threads take the same steps from the same
/// sums.
template <typename Patch>
__device__ void follow_points(Patch& patch, const Pictures& pictures, int levels,
                              const FlowPoints& points, const FlowConfig& config) {
  const int count = min(*points.count, points.max_count);
  const int ways = points.back ? 2 : 1;
  for (int i = static_cast<int>(blockIdx.x); i < count; i += static_cast<int>(gridDim.x)) {
    Point from = points.from[i], to{}, forward{};
    bool good = true;
    for (int way = 0; way < ways && good; ++way) {
      const Levels prev{pictures.level[way]}, next{pictures.level[1 - way]};
      good = follow(patch, prev, next, levels, from, config, to);
      if (way == 0) forward = to;
      from = to;
    }
    if (threadIdx.x == 0) {
      points.to[i] = forward;
      if (points.back) points.back[i] = to;
      points.status[i] = good ? 1 : 0;
    }
  }
}

__global__ void __launch_bounds__(BlockPatch::kThreads)
    follow_with_any_window(const __grid_constant__ Pictures pictures, int levels, FlowPoints points,
                           const __grid_constant__ FlowConfig config) {
  extern __shared__ std::uint8_t memory[];
  __shared__ BlockSum<BlockPatch::kWarps>::Parts parts;
  BlockPatch patch(config.window, memory, parts);
  follow_points(patch, pictures, levels, points, config);
}

template <int kSide, int kWarps>
__global__ void __launch_bounds__(kWarps* kWarp)
    follow_with_window(const __grid_constant__ Pictures pictures, int levels, FlowPoints points,
                       const __grid_constant__ FlowConfig given) {
  using Patch = QuadPatch<kSide, kWarps>;
  __shared__ typename Patch::Memory memory;
  Patch patch(memory);
  FlowConfig config = given;
  config.window = kSide;  // as the compiler knows
  follow_points(patch, pictures, levels, points, config);
}

Pictures pictures_of(const GaussianPyramid& prev, const GaussianPyramid& next, int levels) {
  Pictures pictures;
  for (int i = 0; i < levels; ++i) {
    pictures.level[0][i] = prev.level(i);
    pictures.level[1][i] = next.level(i);
  }
  return pictures;
}

}  // namespace

int flow_levels(const GaussianPyramid& pyramid, const FlowConfig& config) {
  return used_levels(pyramid, pyramid.levels(), config);
}

Status enqueue_flow(const GaussianPyramid& prev, const GaussianPyramid& next,
                    const FlowPoints& points, const FlowConfig& config, Launcher launch) {
  const int blocks = std::min(points.max_count, kMaxBlocks);
  const int levels = std::min(flow_levels(prev, config), next.levels());
  const auto grid = static_cast<unsigned>(blocks);
  const Pictures pictures = pictures_of(prev, next, levels);
  if (config.window == kUsualWindow)
    return launch("flow", follow_with_window<kUsualWindow, kUsualWarps>,
                  {grid, kUsualWarps * kWarp}, pictures, levels, points, config);
  const auto bytes = static_cast<std::size_t>(BlockPatch::bytes(config.window));
  return launch("flow", follow_with_any_window, {grid, BlockPatch::kThreads, bytes}, pictures,
                levels, points, config);
}

}  // namespace cuface::cuda
