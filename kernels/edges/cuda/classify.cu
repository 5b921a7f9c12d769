#include <algorithm>
#include <cstddef>

#include "kernels/common/border.h"
#include "kernels/edges/cuda/classify.h"
#include "kernels/edges/cuda/tile.cuh"

namespace cuface::cuda::edges {
namespace {

constexpr int kThreads = kTileThreads, kWarps = kThreads / kWarp;
constexpr int kQuad = 4;  // bytes that are read at once

// Gradients are those of the tile and a pixel around it.
constexpr int kAroundWidth = kTileWidth + 2, kAroundHeight = kTileHeight + 2;
constexpr int kStrip = 5;  // rows of a thread
constexpr int kStrips = (kAroundHeight + kStrip - 1) / kStrip;

constexpr int kGradients = kAroundWidth * kAroundHeight;
constexpr int kNodes = 1 + kTileWidth * kTileHeight;
static_assert(kNodes <= kGradients, "nodes lie where gradients were");

/// Where pictures lie around a tile, and in shared memory behind the gradients.
struct Plan {
  int half, reach;  ///< of the blur; of gradients of the pixels around the tile
  int margin;       ///< columns of grey beside the tile, whole quads
  int grey_width, grey_height, flat_width, flat_height;

  __host__ __device__ Plan(int taps, int size)
      : half(size / 2),
        reach(1 + taps / 2),
        margin((half + reach + kQuad - 1) / kQuad * kQuad),
        grey_width(kTileWidth + 2 * margin),
        grey_height(kTileHeight + 2 * (half + reach)),
        flat_width(kTileWidth + 2 * reach),
        flat_height(kTileHeight + 2 * reach) {}
  __host__ __device__ int grey_bytes() const { return grey_width * grey_height; }
  __host__ __device__ int sums_bytes() const { return half ? 2 * flat_width * grey_height : 0; }
  __host__ __device__ int flat_bytes() const { return half ? flat_width * flat_height : 0; }
  __host__ __device__ int bytes() const {
    return kGradients * 4 + grey_bytes() + sums_bytes() + flat_bytes();
  }
};

__device__ inline int clamped(int i, int n) { return min(max(i, 0), n - 1); }

/// Both gradients of a pixel in a word: 16 bits hold each.
__device__ inline std::uint32_t packed(std::int32_t dx, std::int32_t dy) {
  return (static_cast<std::uint32_t>(dx) & 0xffff) | static_cast<std::uint32_t>(dy) << 16;
}
__device__ inline std::int32_t dx_of(std::uint32_t both) {
  return static_cast<std::int16_t>(both & 0xffff);
}
__device__ inline std::int32_t dy_of(std::uint32_t both) {
  return static_cast<std::int16_t>(both >> 16);
}

/// The picture around a tile. What lies outside is there: reflected where it is to be blurred,
/// else repeated. `words` where rows begin at whole words.
template <bool kBlurred>
__device__ void load(ImageView<const std::uint8_t> grey, const Plan& plan, int tile_x, int tile_y,
                     bool words, std::uint8_t* to) {
  const auto inside = [](int i, int n) { return kBlurred ? reflect_101(i, n) : clamped(i, n); };
  const int quads = plan.grey_width / kQuad;
  for (int i = static_cast<int>(threadIdx.x); i < quads * plan.grey_height; i += kThreads) {
    const int row = i / quads, column = i % quads * kQuad;
    const int x = tile_x - plan.margin + column;
    const std::uint8_t* from = grey.row(inside(tile_y - plan.half - plan.reach + row, grey.height));
    std::uint32_t quad = 0;
    if (words && x >= 0 && x + kQuad <= grey.width) {
      quad = *reinterpret_cast<const std::uint32_t*>(from + x);
    } else {
      for (int k = 0; k < kQuad; ++k)
        quad |= static_cast<std::uint32_t>(from[inside(x + k, grey.width)]) << (8 * k);
    }
    *reinterpret_cast<std::uint32_t*>(to + row * plan.grey_width + column) = quad;
  }
}

/// The blur along the rows, then the columns. Outside of the picture its last pixel is repeated.
template <int kSize>
__device__ void blur_tile(const std::uint8_t* grey, const Plan& plan, const Blur& blur, int tile_x,
                          int tile_y, int width, int height, std::uint16_t* sums,
                          std::uint8_t* flat) {
  const int size = kSize > 0 ? kSize : blur.size;
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < plan.flat_width * plan.grey_height; i += kThreads) {
    const int row = i / plan.flat_width, column = i % plan.flat_width;
    const int x = clamped(tile_x - plan.reach + column, width) - (tile_x - plan.margin);
    const std::uint8_t* from = grey + row * plan.grey_width + x - plan.half;
    std::int32_t sum = 0;
    for (int k = 0; k < size; ++k) sum += from[k] * blur.weights[k];
    sums[i] = static_cast<std::uint16_t>(sum);
  }
  __syncthreads();
  const int top = tile_y - plan.reach;
  for (int i = thread; i < plan.flat_width * plan.flat_height; i += kThreads) {
    const int row = i / plan.flat_width, column = i % plan.flat_width;
    const int y = clamped(top + row, height) - top;
    const std::uint16_t* from = sums + y * plan.flat_width + column;
    std::int32_t sum = 1 << (2 * kBlurBits - 1);
    for (int k = 0; k < size; ++k) sum += from[k * plan.flat_width] * blur.weights[k];
    flat[i] = static_cast<std::uint8_t>(sum >> (2 * kBlurBits));
  }
}

/// Gradients of the tile and a pixel around it, (0, 0) outside of the picture. `flat` begins
/// `reach` beside and above the tile.
template <int kTaps>
__device__ void gradients(const std::uint8_t* flat, int stride, int rows, const EdgeRules& rules,
                          int tile_x, int tile_y, int width, int height, std::uint32_t* out) {
  for (int i = static_cast<int>(threadIdx.x); i < kAroundWidth * kStrips; i += kThreads) {
    const int column = i % kAroundWidth, first = i / kAroundWidth * kStrip;
    std::int32_t smooth[kStrip + kTaps - 1], slope[kStrip + kTaps - 1];
#pragma unroll
    for (int r = 0; r < kStrip + kTaps - 1; ++r) {
      const std::uint8_t* from = flat + min(first + r, rows - 1) * stride + column;
      smooth[r] = slope[r] = 0;
#pragma unroll
      for (int k = 0; k < kTaps; ++k) {
        smooth[r] += from[k] * rules.smooth[k];
        slope[r] += from[k] * rules.slope[k];
      }
    }
    const int x = tile_x - 1 + column;
#pragma unroll
    for (int r = 0; r < kStrip; ++r) {
      if (first + r >= kAroundHeight) break;
      std::int32_t dx = 0, dy = 0;
#pragma unroll
      for (int k = 0; k < kTaps; ++k) {
        dx += slope[r + k] * rules.smooth[k];
        dy += smooth[r + k] * rules.slope[k];
      }
      if (rules.sixteenths) {
        dx = divide_by_sixteen(dx);
        dy = divide_by_sixteen(dy);
      }
      const int y = tile_y - 1 + first + r;
      const bool inside = x >= 0 && x < width && y >= 0 && y < height;
      out[(first + r) * kAroundWidth + column] = inside ? packed(dx, dy) : 0;
    }
  }
}

/// Each warp has words of a column; each of its threads has a pixel.
__device__ void thin(const std::uint32_t* gradients, const EdgeRules& rules,
                     const OctaveTable& octave, int tile_x, int tile_y, int width, int height,
                     const ClassifyViews& out, TileBits& bits) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int i = warp; i < kWords; i += kWarps) {
    const int word = i % kTileWords, row = i / kTileWords, column = word * kWarp + lane;
    const std::uint32_t* here = gradients + (row + 1) * kAroundWidth + column + 1;
    const std::int32_t dx = dx_of(*here), dy = dy_of(*here);
    const std::int32_t magnitude = magnitude_of(dx, dy, rules.norm);
    const bool above = magnitude > rules.low;
    const bool ridge =
        above && is_ridge(magnitude, dx, dy, rules.thinning, [&](int across, int down) {
          const std::uint32_t there = here[down * kAroundWidth + across];
          return magnitude_of(dx_of(there), dy_of(there), rules.norm);
        });
    const bool edge = ridge && magnitude > rules.high;
    const bool linked = rules.linking == Linking::kApron  ? above
                        : rules.linking == Linking::kNone ? edge
                                                          : ridge;
    const std::uint32_t all = __ballot_sync(kAllLanes, linked);
    const std::uint32_t strong = __ballot_sync(kAllLanes, edge);
    if (lane == 0) {
      bits.ridges[row][word] = all;
      bits.edges[row][word] = strong;
    }
    const int x = tile_x + column, y = tile_y + row;
    if (x >= width || y >= height) continue;
    if (out.magnitude.data) out.magnitude.at(x, y) = contrast(magnitude, rules);
    if (out.angle.data) out.angle.at(x, y) = angle_step(dx, dy, octave);
  }
}

/// A block a tile. kSize: of the blur, 0 = that of `blur`.
template <int kTaps, int kSize>
__global__ void __launch_bounds__(kThreads)
    classify_kernel(ImageView<const std::uint8_t> grey, const __grid_constant__ EdgeRules rules,
                    const __grid_constant__ Blur blur, const __grid_constant__ OctaveTable octave,
                    const __grid_constant__ ClassifyViews out, bool words) {
  extern __shared__ std::uint32_t memory[];
  __shared__ TileBits bits;
  __shared__ TileRuns runs;
  const Plan plan(kTaps, kSize > 0 ? kSize : blur.size);
  const int tile_x = static_cast<int>(blockIdx.x) * kTileWidth;
  const int tile_y = static_cast<int>(blockIdx.y) * kTileHeight;
  const int thread = static_cast<int>(threadIdx.x);
  auto* bytes = reinterpret_cast<std::uint8_t*>(memory + kGradients);
  load<kSize != 1>(grey, plan, tile_x, tile_y, words, bytes);
  __syncthreads();
  const std::uint8_t* flat = bytes + plan.margin - plan.reach;
  int stride = plan.grey_width;
  if (kSize != 1) {
    auto* sums = reinterpret_cast<std::uint16_t*>(bytes + plan.grey_bytes());
    std::uint8_t* blurred = bytes + plan.grey_bytes() + plan.sums_bytes();
    blur_tile<kSize>(bytes, plan, blur, tile_x, tile_y, grey.width, grey.height, sums, blurred);
    __syncthreads();
    flat = blurred;
    stride = plan.flat_width;
  }
  gradients<kTaps>(flat, stride, plan.flat_height, rules, tile_x, tile_y, grey.width, grey.height,
                   memory);
  __syncthreads();
  thin(memory, rules, octave, tile_x, tile_y, grey.width, grey.height, out, bits);
  if (!out.ridges.data) return;
  __syncthreads();
  if (out.parents) {
    if (thread < kWarp) settle_tile(bits);
    __syncthreads();
  }
  std::uint32_t ridges = 0;
  if (thread < kWords) {
    const int word = thread % kTileWords, row = thread / kTileWords;
    ridges = bits.ridges[row][word];
    const int x = tile_x / kWarp + word, y = tile_y + row;
    if (y < grey.height) {
      out.ridges.at(x, y) = ridges | bits.edges[row][word];
      if (out.edges.data) out.edges.at(x, y) = bits.edges[row][word];
    }
  }
  if (!out.parents) return;
  if (blockIdx.x == 0 && blockIdx.y == 0 && thread == 0) out.parents[kEdgeNode] = kEdgeNode;
  if (!__syncthreads_or(ridges != 0)) return;
  unite_tile(bits, runs, tile_x, tile_y, out.ridges.width, memory, out.parents);
}

using Kernel = void (*)(ImageView<const std::uint8_t>, EdgeRules, Blur, OctaveTable, ClassifyViews,
                        bool);

template <int kTaps>
Kernel kernel_for(int size) {
  switch (size) {
    case 1:
      return classify_kernel<kTaps, 1>;
    case 5:
      return classify_kernel<kTaps, 5>;
    default:
      return classify_kernel<kTaps, 0>;
  }
}

}  // namespace

Status classify(ImageView<const std::uint8_t> grey, const EdgeRules& rules, const Blur& blur,
                const OctaveTable& octave, const ClassifyViews& out, Launcher launch) {
  const auto parts = [](int n, int of) { return static_cast<unsigned>((n + of - 1) / of); };
  const bool words =
      reinterpret_cast<std::uintptr_t>(grey.data) % kQuad == 0 && grey.stride % kQuad == 0;
  const Kernel kernel = rules.taps == 3   ? kernel_for<3>(blur.size)
                        : rules.taps == 5 ? kernel_for<5>(blur.size)
                                          : kernel_for<7>(blur.size);
  const dim3 grid(parts(grey.width, kTileWidth), parts(grey.height, kTileHeight));
  const auto shared = static_cast<std::size_t>(Plan(rules.taps, blur.size).bytes());
  return launch("edges", kernel, {grid, kThreads, shared}, grey, rules, blur, octave, out, words);
}

}  // namespace cuface::cuda::edges
