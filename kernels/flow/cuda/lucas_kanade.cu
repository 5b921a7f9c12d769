#include <algorithm>

#include "kernels/flow/cuda/lucas_kanade.h"
#include "kernels/flow/cuda/quads.cuh"
#include "kernels/flow/cuda/window.cuh"
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

/// A window of any size: a block's threads share its pixels.
class BlockPatch {
 public:
  static constexpr int kThreads = 128;
  static constexpr int kWarps = kThreads / kWarp;
  static_assert((63 * 63 + kThreads - 1) / kThreads <= kMostPixels);

  /// Of the shared memory.
  __host__ __device__ static constexpr int bytes(int window) {
    return 3 * 2 * window * window + Surroundings::bytes(window);
  }

  __device__ BlockPatch(int window, std::uint8_t* memory, BlockSum<kWarps>::Parts& parts)
      : window_(window),
        value_(reinterpret_cast<std::int16_t*>(memory)),
        dx_(value_ + window * window),
        dy_(dx_ + window * window),
        around_(window, memory + 3 * 2 * window * window),
        sum_(parts) {}

  __device__ GradientSums take(const Picture& picture, const Sample& s) {
    around_.take<kThreads>(picture, s, [] { __syncthreads(); });
    __syncthreads();
    int of_thread[3] = {0, 0, 0};
    // Each thread reads back in compare() just the pixels it writes here.
    for (WindowWalk<kThreads> w(window_); w.more(); w.next()) {
      const auto texel = around_.texel(w.x, w.y, s);
      const int i = w.index();
      value_[i] = texel.value;
      dx_[i] = texel.dx;
      dy_[i] = texel.dy;
      of_thread[0] += texel.dx * texel.dx;
      of_thread[1] += texel.dx * texel.dy;
      of_thread[2] += texel.dy * texel.dy;
    }
    std::int64_t sum[3];
    sum_.add_up(of_thread, sum);
    return {sum[0], sum[1], sum[2]};
  }

  __device__ MismatchSums compare(const Picture& picture, const Sample& s) {
    const bool inside = s.x >= 0 && s.y >= 0 && s.x + window_ + 1 <= picture.width &&
                        s.y + window_ + 1 <= picture.height;
    int of_thread[2] = {0, 0};
    for (WindowWalk<kThreads> w(window_); w.more(); w.next()) {
      const int i = w.index();
      const int difference = sample_pixel(picture, s, w.x, w.y, inside) - value_[i];
      of_thread[0] += difference * dx_[i];
      of_thread[1] += difference * dy_[i];
    }
    std::int64_t sum[2];
    sum_.add_up(of_thread, sum);
    return {sum[0], sum[1]};
  }

 private:
  int window_;
  std::int16_t *value_, *dx_, *dy_;
  Surroundings around_;
  BlockSum<kWarps> sum_;
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
