#include <algorithm>
#include <cstddef>

#include "kernels/common/border.h"
#include "kernels/edges/cuda/classify.h"
#include "kernels/edges/cuda/tile.cuh"

namespace cuface::cuda::edges {
namespace {

constexpr int kThreads = kTileThreads, kWarps = kThreads / kWarp;
constexpr int kQuad = 4;  // bytes that are read at once

constexpr int kRows = kTileHeight / kWarps;  // of a warp

constexpr int kNodes = 1 + kTileWidth * kTileHeight;

/// Where pictures lie around a tile, and in shared memory behind the nodes.
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
    return kNodes * 4 + grey_bytes() + sums_bytes() + flat_bytes();
  }
};

__device__ inline int clamped(int i, int n) { return min(max(i, 0), n - 1); }

/// The picture around a tile. What lies outside is there: reflected where it is to be blurred,
/// else repeated. `words` where rows begin at whole words.
template <bool kBlurred>
__device__ void load(ImageView<const std::uint8_t> grey, const Plan& plan, int tile_x, int tile_y,
                     bool words, std::uint8_t* to) {
  const auto inside = [](int i, int n) { return kBlurred ? reflect_101(i, n) : clamped(i, n); };
  const int quads = plan.grey_width / kQuad, all = quads * plan.grey_height;
  const int left = tile_x - plan.margin, top = tile_y - plan.half - plan.reach;
  const int last = words ? grey.width - kQuad : -1;  // of the places where a quad is read at once
  const auto row_of = [&](int row) { return grey.row(inside(top + row, grey.height)); };
  const auto is_whole = [&](int x) { return x >= 0 && x <= last; };
  const auto store = [&](int row, int column, std::uint32_t quad) {
    *reinterpret_cast<std::uint32_t*>(to + row * plan.grey_width + column) = quad;
  };
  // All reads of a thread are on their way before it stores the first one.
  constexpr int kReads = 6;
  for (int before = 0; before < all; before += kReads * kThreads) {
    std::uint32_t read[kReads] = {};
#pragma unroll
    for (int k = 0; k < kReads; ++k) {
      const int i = before + k * kThreads + static_cast<int>(threadIdx.x);
      const int row = i / quads, x = left + i % quads * kQuad;
      if (i < all && is_whole(x))
        read[k] = *reinterpret_cast<const std::uint32_t*>(row_of(row) + x);
    }
#pragma unroll
    for (int k = 0; k < kReads; ++k) {
      const int i = before + k * kThreads + static_cast<int>(threadIdx.x);
      const int row = i / quads, column = i % quads * kQuad;
      if (i < all && is_whole(left + column)) store(row, column, read[k]);
    }
  }
  if (is_whole(left) && is_whole(left + plan.grey_width - kQuad)) return;
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < all; i += kThreads) {
    const int row = i / quads, column = i % quads * kQuad, x = left + column;
    if (is_whole(x)) continue;
    const std::uint8_t* from = row_of(row);
    std::uint32_t quad = 0;
    for (int k = 0; k < kQuad; ++k)
      quad |= static_cast<std::uint32_t>(from[inside(x + k, grey.width)]) << (8 * k);
    store(row, column, quad);
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

/// Of a lane's two pixels of a row, which are a word apart. They are in one number,
/// first + 2^16 * second: sums of multiples of such numbers are such numbers.
struct Pair {
  std::int32_t first = 0, second = 0;
};
__device__ inline Pair unpacked(std::uint32_t both) {
  const auto first = static_cast<std::int16_t>(both & 0xffff);
  return {first, static_cast<std::int32_t>(both - static_cast<std::uint32_t>(first)) >> 16};
}

/// A row's magnitudes at a lane's pixels, and beside them.
struct Magnitudes {
  Pair left, own, right;
};

/// Filters of gradients over the rows of a tile, one after the other, by a warp. `from`: the pixel
/// that the first of a lane's filters begins at.
template <int kTaps>
struct Filters {
  /// Along the rows, of the last rows.
  std::uint32_t smooth[kTaps] = {}, slope[kTaps] = {};

  /// Takes the next row in.
  __device__ void take(const std::uint8_t* from, const EdgeRules& rules) {
#pragma unroll
    for (int k = 0; k + 1 < kTaps; ++k) {
      smooth[k] = smooth[k + 1];
      slope[k] = slope[k + 1];
    }
    std::uint32_t s = 0, d = 0;
#pragma unroll
    for (int k = 0; k < kTaps; ++k) {
      const std::uint32_t both = from[k] | std::uint32_t{from[k + kWarp]} << 16;
      s += both * static_cast<std::uint32_t>(rules.smooth[k]);
      d += both * static_cast<std::uint32_t>(rules.slope[k]);
    }
    smooth[kTaps - 1] = s;
    slope[kTaps - 1] = d;
  }
  __device__ void gradients(const EdgeRules& rules, Pair& dx, Pair& dy) const {
    // Those of seven taps need more than 16 bits before they are divided.
    if constexpr (kTaps == 7) {
      dx = dy = {};
#pragma unroll
      for (int k = 0; k < kTaps; ++k) {
        const Pair d = unpacked(slope[k]);
        const Pair s = unpacked(smooth[k]);
        dx.first += d.first * rules.smooth[k];
        dx.second += d.second * rules.smooth[k];
        dy.first += s.first * rules.slope[k];
        dy.second += s.second * rules.slope[k];
      }
      for (std::int32_t* sum : {&dx.first, &dx.second, &dy.first, &dy.second})
        *sum = rules.sixteenths ? divide_by_sixteen(*sum) : *sum;
    } else {
      std::uint32_t x = 0, y = 0;
#pragma unroll
      for (int k = 0; k < kTaps; ++k) {
        x += slope[k] * static_cast<std::uint32_t>(rules.smooth[k]);
        y += smooth[k] * static_cast<std::uint32_t>(rules.slope[k]);
      }
      dx = unpacked(x);
      dy = unpacked(y);
    }
  }
};

/// The magnitude of one pixel, whose filter begins at `from`.
template <int kTaps>
__device__ std::int32_t magnitude_at(const std::uint8_t* from, int stride, const EdgeRules& rules) {
  std::int32_t dx = 0, dy = 0;
#pragma unroll
  for (int r = 0; r < kTaps; ++r) {
    std::int32_t smooth = 0, slope = 0;
#pragma unroll
    for (int k = 0; k < kTaps; ++k) {
      smooth += from[r * stride + k] * rules.smooth[k];
      slope += from[r * stride + k] * rules.slope[k];
    }
    dx += slope * rules.smooth[r];
    dy += smooth * rules.slope[r];
  }
  if (rules.sixteenths) {
    dx = divide_by_sixteen(dx);
    dy = divide_by_sixteen(dy);
  }
  return magnitude_of(dx, dy, rules.norm);
}

/// Gradients and what they make of the tile's pixels. Each warp has rows; a lane has a pixel of
/// either word. What is beside it comes from the lanes beside, what is above and below stays in
/// registers. `flat` begins `reach` beside and above the tile. Magnitudes are 0 outside of the
/// picture.
template <int kTaps, bool kPlain>
__device__ void find_ridges(const std::uint8_t* flat, int stride, const EdgeRules& rules,
                            const OctaveTable& octave, int tile_x, int tile_y, int width,
                            int height, const ClassifyViews& out, TileBits& bits) {
  const GradientNorm norm = kPlain ? GradientNorm::kL1 : rules.norm;
  const Thinning thinning = kPlain ? Thinning::kGradient : rules.thinning;
  const Linking linking = kPlain ? Linking::kHysteresis : rules.linking;
  constexpr int kAround = kRows + 2;
  static_assert(2 * kAround <= kWarp && kTileWords == 2);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int top = static_cast<int>(threadIdx.x) / kWarp * kRows;
  const auto in_row = [&](int y) { return tile_y + y >= 0 && tile_y + y < height; };
  // The columns beside the tile: a lane a pixel of either.
  std::int32_t beside = 0;
  if (lane < 2 * kAround) {
    const int y = lane % kAround, x = lane < kAround ? 0 : kTileWidth + 1;
    if (in_row(top - 1 + y) && tile_x + x > 0 && tile_x + x - 1 < width)
      beside = magnitude_at<kTaps>(flat + (top + y) * stride + x, stride, rules);
  }
  const bool inside[2] = {tile_x + lane < width, tile_x + lane + kWarp < width};
  const std::uint8_t* from = flat + top * stride + lane + 1;
  Filters<kTaps> filters;
#pragma unroll
  for (int r = 0; r + 1 < kTaps; ++r) filters.take(from + r * stride, rules);
  Magnitudes above, here, below;
  Pair dx, dy, next_dx, next_dy;
#pragma unroll 1
  for (int r = 0; r < kAround; ++r) {
    filters.take(from + (r + kTaps - 1) * stride, rules);
    filters.gradients(rules, next_dx, next_dy);
    const bool there = in_row(top - 1 + r);
    below.own.first = there && inside[0] ? magnitude_of(next_dx.first, next_dy.first, norm) : 0;
    below.own.second = there && inside[1] ? magnitude_of(next_dx.second, next_dy.second, norm) : 0;
    const auto from_lane = [](std::int32_t value, int of) {
      return __shfl_sync(kAllLanes, value, of % kWarp);
    };
    const std::int32_t side = from_lane(beside, lane == 0 ? r : kAround + r);
    below.left = {from_lane(below.own.first, lane + kWarp - 1),
                  from_lane(below.own.second, lane + kWarp - 1)};
    below.right = {from_lane(below.own.first, lane + 1), from_lane(below.own.second, lane + 1)};
    if (lane == 0) below.left = {side, below.left.first};
    if (lane == kWarp - 1) below.right = {below.right.second, side};
    if (r >= 2) {
      const int row = top + r - 2;
      std::uint32_t ridges[2] = {}, edges[2] = {};
      if (!kPlain || __any_sync(kAllLanes, max(here.own.first, here.own.second) > rules.low)) {
#pragma unroll
        for (int word = 0; word < 2; ++word) {
          const auto of = [&](const Pair& pair) { return word == 0 ? pair.first : pair.second; };
          const std::int32_t magnitude = of(here.own);
          const bool above_low = magnitude > rules.low;
          const bool ridge =
              above_low && is_ridge(magnitude, of(dx), of(dy), thinning, [&](int across, int down) {
                const Magnitudes& m = down < 0 ? above : down > 0 ? below : here;
                return of(across < 0 ? m.left : across > 0 ? m.right : m.own);
              });
          const bool edge = ridge && magnitude > rules.high;
          const bool linked = linking == Linking::kApron  ? above_low
                              : linking == Linking::kNone ? edge
                                                          : ridge;
          ridges[word] = __ballot_sync(kAllLanes, linked);
          edges[word] = __ballot_sync(kAllLanes, edge);
          const int x = tile_x + word * kWarp + lane, y = tile_y + row;
          if (!kPlain && inside[word] && y < height) {
            if (out.magnitude.data) out.magnitude.at(x, y) = contrast(magnitude, rules);
            if (out.angle.data) out.angle.at(x, y) = angle_step(of(dx), of(dy), octave);
          }
        }
      }
      if (lane == 0) {
        for (int word = 0; word < 2; ++word) {
          bits.ridges[row][word] = ridges[word];
          bits.edges[row][word] = edges[word];
        }
      }
    }
    above = here;
    here = below;
    dx = next_dx;
    dy = next_dy;
  }
}

/// A block a tile. kSize: of the blur, 0 = that of `blur`. kPlain: cv::Canny with the norm L1, and
/// nothing but its map: half the instructions.
template <int kTaps, int kSize, bool kPlain>
__global__ void __launch_bounds__(kThreads, 8)
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
  auto* bytes = reinterpret_cast<std::uint8_t*>(memory + kNodes);
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
  find_ridges<kTaps, kPlain>(flat, stride, rules, octave, tile_x, tile_y, grey.width, grey.height,
                             out, bits);
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
Kernel kernel_for(int size, bool plain) {
  if (plain && size == 1) return classify_kernel<kTaps, 1, true>;
  if (plain && size == 5) return classify_kernel<kTaps, 5, true>;
  return size == 1 ? classify_kernel<kTaps, 1, false> : classify_kernel<kTaps, 0, false>;
}

}  // namespace

Status classify(ImageView<const std::uint8_t> grey, const EdgeRules& rules, const Blur& blur,
                const OctaveTable& octave, const ClassifyViews& out, Launcher launch) {
  const auto parts = [](int n, int of) { return static_cast<unsigned>((n + of - 1) / of); };
  const bool words =
      reinterpret_cast<std::uintptr_t>(grey.data) % kQuad == 0 && grey.stride % kQuad == 0;
  const bool plain = rules.norm == GradientNorm::kL1 && rules.thinning == Thinning::kGradient &&
                     rules.linking == Linking::kHysteresis && !out.magnitude.data &&
                     !out.angle.data;
  const Kernel kernel = rules.taps == 3   ? kernel_for<3>(blur.size, plain)
                        : rules.taps == 5 ? kernel_for<5>(blur.size, plain)
                                          : kernel_for<7>(blur.size, plain);
  const dim3 grid(parts(grey.width, kTileWidth), parts(grey.height, kTileHeight));
  const auto shared = static_cast<std::size_t>(Plan(rules.taps, blur.size).bytes());
  return launch("edges", kernel, {grid, kThreads, shared}, grey, rules, blur, octave, out, words);
}

}  // namespace cuface::cuda::edges
