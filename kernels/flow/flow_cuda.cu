#include <algorithm>

#include "kernels/common/border.h"
#include "kernels/flow/flow_cuda.h"
#include "kernels/flow/follow.h"

namespace cuface::cuda {
namespace {

using namespace flow_steps;

/// A block follows one point after the other: its threads share the pixels of the window, and all
/// of them take the same steps from the same sums.
constexpr int kThreads = 128, kWarps = kThreads / 32;
constexpr int kMaxBlocks = 2048;

struct Levels {
  Picture picture[GaussianPyramid::kMaxLevels];
  __device__ Picture level(int i) const { return picture[i]; }
};

/// Where the parts of a window lie in shared memory: bytes from its start.
struct Layout {
  int slopes;  // 2 x (window + 1)^2 std::int16_t
  int patch;   // 3 x window^2 std::int16_t
  int pixels;  // (window + 3)^2 std::uint8_t
  int bytes;
};

__host__ __device__ constexpr Layout layout_of(int window) {
  Layout l{};
  l.patch = 2 * 2 * (window + 1) * (window + 1);
  l.pixels = l.patch + 3 * 2 * window * window;
  l.bytes = l.pixels + (window + 3) * (window + 3);
  return l;
}
static_assert(layout_of(63).bytes + 4 * kWarps * 3 * 8 <= 48 * 1024);

/// This thread's pixels of a side x side square, in turn: tid, tid + kThreads, ...
struct Walk {
  int x, y, step_x, step_y, side;

  __device__ explicit Walk(int n)
      : x(static_cast<int>(threadIdx.x) % n),
        y(static_cast<int>(threadIdx.x) / n),
        step_x(kThreads % n),
        step_y(kThreads / n),
        side(n) {}
  __device__ bool more() const { return y < side; }
  __device__ void next() {
    x += step_x;
    y += step_y;
    if (x >= side) {
      x -= side;
      ++y;
    }
  }
  __device__ int index() const { return y * side + x; }
};

/// What follow() asks of the pixels, by all threads of the block together.
class BlockPatch {
 public:
  using Sums = std::int64_t[2][kWarps][3];

  __device__ BlockPatch(int window, std::uint8_t* memory, Sums& sums)
      : window_(window),
        slope_x_(reinterpret_cast<std::int16_t*>(memory + layout_of(window).slopes)),
        slope_y_(slope_x_ + (window + 1) * (window + 1)),
        value_(reinterpret_cast<std::int16_t*>(memory + layout_of(window).patch)),
        dx_(value_ + window * window),
        dy_(dx_ + window * window),
        pixels_(memory + layout_of(window).pixels),
        sums_(sums) {}

  __device__ GradientSums take(const Picture& picture, const Sample& s) {
    const int gathered = window_ + 3, sloped = window_ + 1;
    for (Walk w(gathered); w.more(); w.next()) {
      pixels_[w.index()] = picture.at(reflect_101(s.x - 1 + w.x, picture.width),
                                      reflect_101(s.y - 1 + w.y, picture.height));
    }
    __syncthreads();
    for (Walk w(sloped); w.more(); w.next()) {
      const int px = s.x + w.x, py = s.y + w.y;
      const bool inside = px >= 0 && px < picture.width && py >= 0 && py < picture.height;
      const std::uint8_t* p = pixels_ + (w.y + 1) * gathered + w.x + 1;
      slope_x_[w.index()] = inside ? scharr_x(p, gathered) : std::int16_t{0};
      slope_y_[w.index()] = inside ? scharr_y(p, gathered) : std::int16_t{0};
    }
    __syncthreads();
    std::int64_t sum[3] = {0, 0, 0};
    // Each thread reads back in compare() just the pixels it writes here.
    for (Walk w(window_); w.more(); w.next()) {
      const std::uint8_t* p = pixels_ + (w.y + 1) * gathered + w.x + 1;
      const std::uint8_t* below = p + gathered;
      const int k = w.y * sloped + w.x, i = w.index();
      value_[i] = interpolate<kWeightBits - kPatchBits>(p[0], p[1], below[0], below[1], s);
      const std::int16_t dx = interpolate<kWeightBits>(
          slope_x_[k], slope_x_[k + 1], slope_x_[k + sloped], slope_x_[k + sloped + 1], s);
      const std::int16_t dy = interpolate<kWeightBits>(
          slope_y_[k], slope_y_[k + 1], slope_y_[k + sloped], slope_y_[k + sloped + 1], s);
      dx_[i] = dx;
      dy_[i] = dy;
      sum[0] += dx * dx;
      sum[1] += dx * dy;
      sum[2] += dy * dy;
    }
    add_up(sum);
    return {sum[0], sum[1], sum[2]};
  }

  __device__ MismatchSums compare(const Picture& picture, const Sample& s) {
    const bool inside = s.x >= 0 && s.y >= 0 && s.x + window_ + 1 <= picture.width &&
                        s.y + window_ + 1 <= picture.height;
    std::int64_t sum[2] = {0, 0};
    for (Walk w(window_); w.more(); w.next()) {
      int x = s.x + w.x, y = s.y + w.y, right = x + 1, down = y + 1;
      if (!inside) {
        x = reflect_101(x, picture.width);
        y = reflect_101(y, picture.height);
        right = reflect_101(right, picture.width);
        down = reflect_101(down, picture.height);
      }
      const std::uint8_t *row = picture.row(y), *below = picture.row(down);
      const int i = w.index();
      const int value =
          interpolate<kWeightBits - kPatchBits>(row[x], row[right], below[x], below[right], s);
      const int difference = value - value_[i];
      sum[0] += difference * dx_[i];
      sum[1] += difference * dy_[i];
    }
    add_up(sum);
    return {sum[0], sum[1]};
  }

 private:
  /// Sums over the block, for all its threads. Two sets of partial sums in turn, so that no thread
  /// writes one that another still reads.
  template <int n>
  __device__ void add_up(std::int64_t (&sum)[n]) {
    auto& part = sums_[turn_];
    turn_ ^= 1;
    for (int offset = 16; offset > 0; offset /= 2) {
      for (int k = 0; k < n; ++k) sum[k] += __shfl_down_sync(0xffffffffu, sum[k], offset);
    }
    if (threadIdx.x % 32 == 0) {
      for (int k = 0; k < n; ++k) part[threadIdx.x / 32][k] = sum[k];
    }
    __syncthreads();
    for (int k = 0; k < n; ++k) {
      sum[k] = 0;
      for (int w = 0; w < kWarps; ++w) sum[k] += part[w][k];
    }
  }

  int window_, turn_ = 0;
  std::int16_t *slope_x_, *slope_y_, *value_, *dx_, *dy_;
  std::uint8_t* pixels_;
  Sums& sums_;
};

__global__ void __launch_bounds__(kThreads)
    follow_points(const __grid_constant__ Levels prev, const __grid_constant__ Levels next,
                  int levels, FlowPoints points, const __grid_constant__ FlowConfig config) {
  extern __shared__ std::uint8_t memory[];
  __shared__ BlockPatch::Sums sums;
  BlockPatch patch(config.window, memory, sums);
  const int count = min(*points.count, points.max_count);
  for (int i = static_cast<int>(blockIdx.x); i < count; i += static_cast<int>(gridDim.x)) {
    Point to;
    bool good = follow(patch, prev, next, levels, points.from[i], config, to);
    Point back = to;
    if (points.back && good) good = follow(patch, next, prev, levels, to, config, back);
    if (threadIdx.x == 0) {
      points.to[i] = to;
      if (points.back) points.back[i] = back;
      points.status[i] = good ? 1 : 0;
    }
  }
}

Levels levels_of(const GaussianPyramid& pyramid) {
  Levels levels;
  for (int i = 0; i < pyramid.levels(); ++i) levels.picture[i] = pyramid.level(i);
  return levels;
}

}  // namespace

int flow_levels(const GaussianPyramid& pyramid, const FlowConfig& config) {
  return used_levels(pyramid, pyramid.levels(), config);
}

Status enqueue_flow(const GaussianPyramid& prev, const GaussianPyramid& next,
                    const FlowPoints& points, const FlowConfig& config, Launcher launch) {
  const int blocks = std::min(points.max_count, kMaxBlocks);
  const int levels = std::min(flow_levels(prev, config), next.levels());
  const auto bytes = static_cast<std::size_t>(layout_of(config.window).bytes);
  return launch("flow", follow_points, {static_cast<unsigned>(blocks), kThreads, bytes},
                levels_of(prev), levels_of(next), levels, points, config);
}

}  // namespace cuface::cuda
