// A block makes a tile of pixels of some of a step's channels: what the step begins with and its
// pointwise convolution for the tile and a border of one pixel, then the depthwise convolution.
#include <cuda_pipeline.h>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/try.h"
#include "kernels/network/cuda/forward.h"
#include "kernels/network/rules.h"

namespace cuface::cuda {
namespace {

using network::larger;
using network::rectified;
using network::StepSource;

constexpr int kGroup = kGroupChannels;

__host__ __device__ constexpr std::size_t size(int value) {
  return static_cast<std::size_t>(value);
}

__device__ float4 larger_of(const float4& a, const float4& b) {
  return {larger(a.x, b.x), larger(a.y, b.y), larger(a.z, b.z), larger(a.w, b.w)};
}

__device__ void add_product(float4& sum, float factor, const float4& weights) {
  sum.x += factor * weights.x;
  sum.y += factor * weights.y;
  sum.z += factor * weights.z;
  sum.w += factor * weights.w;
}

__device__ float4 rectified_if(bool relu, const float4& v) {
  return relu ? float4{rectified(v.x), rectified(v.y), rectified(v.z), rectified(v.w)} : v;
}

__device__ const float4& quad(const float* at) { return *reinterpret_cast<const float4*>(at); }
__device__ float4& quad(float* at) { return *reinterpret_cast<float4*>(at); }

/// Four channels of a pixel of what a step begins with, from memory.
__device__ float4 read_source(const DeviceStep& step, int x, int y, int channel) {
  const auto at = [&](const float* tensor, int px, int py, int columns) {
    return quad(tensor + (size(py) * size(columns) + size(px)) * size(step.input_floats) +
                size(channel));
  };
  if (step.source == StepSource::kTensor) return at(step.input, x, y, step.columns);
  if (step.source == StepSource::kPooled) {
    const int columns = 2 * step.columns;
    const auto row = [&](int py) {
      return larger_of(at(step.input, 2 * x, py, columns), at(step.input, 2 * x + 1, py, columns));
    };
    return larger_of(row(2 * y), row(2 * y + 1));
  }
  const float4 low = at(step.input, x / 2, y / 2, step.columns / 2);
  const float4 other = at(step.other, x, y, step.columns);
  return {low.x + other.x, low.y + other.y, low.z + other.z, low.w + other.w};
}

template <int kTile>
struct Shape {
  static constexpr int kSide = kTile + 2;  // with its border
  static constexpr int kPixels = kSide * kSide;
  static constexpr int kPictureSide = 2 * kSide + 1;
  /// Channels of a step's input in shared memory at once.
  static constexpr int kChunk = kTile == kSmallTile ? 64 : 32;
  /// Pixels of a thread, each with four of kGroup channels.
  static constexpr int kMost = kTile == kSmallTile ? 1 : 2;
  static constexpr int kThreads = kPixels * (kGroup / 4) / kMost;
};

/// Rows are four floats longer than their channels: no two pixels of a warp share a bank.
template <int kTile>
struct Memory {
  using S = Shape<kTile>;
  alignas(16) float source[S::kPixels][S::kChunk + 4];
  alignas(16) float middle[S::kPixels][kGroup + 4];
  alignas(16) float pointwise[S::kChunk][kGroup];
  alignas(16) float depthwise[10][kGroup];  // the biases last, as in the tables
  alignas(16) float picture_weights[28][kGroup];
  float picture[S::kPictureSide * S::kPictureSide][3];
};

/// Threads as rows of 2^shift, each with four channels.
struct Rows {
  int row, rows, channel;
  __device__ Rows(int threads, int shift)
      : row(static_cast<int>(threadIdx.x) >> shift),
        rows(threads >> shift),
        channel((static_cast<int>(threadIdx.x) & ((1 << shift) - 1)) * 4) {
    if (row >= rows) row = 1 << 30;  // left over
  }
};

/// The shift of Rows for so many channels.
__device__ int shift_of(int channels) {
  return channels > 4 ? 32 - __clz((channels + 3) / 4 - 1) : 0;
}

__device__ void copy_later(float* to, const float* from) {
  __pipeline_memcpy_async(to, from, sizeof(float4));
}

__device__ void finish_copies() {
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
}

/// Rows `first_row` on of a table of weights, `channels` of them from `first` on.
template <int kThreads, int kColumns>
__device__ void copy_table(float (*to)[kColumns], const float* table, int padded, int first_row,
                           int count, int first, int channels) {
  const Rows rows(kThreads, shift_of(channels));
  if (rows.channel >= channels) return;
  for (int r = rows.row; r < count; r += rows.rows)
    copy_later(&to[r][rows.channel],
               table + size(first_row + r) * size(padded) + size(first + rows.channel));
}

/// The part of the picture, 0 outside of it, that a tile's convolution of the picture reads.
template <int kTile>
__device__ void read_picture(Memory<kTile>& memory, ImageView<const Bgr> picture, int left,
                             int top) {
  using S = Shape<kTile>;
  constexpr int kSide = S::kPictureSide;
  for (int i = static_cast<int>(threadIdx.x); i < kSide * kSide; i += S::kThreads) {
    const int x = 2 * left - 1 + i % kSide, y = 2 * top - 1 + i / kSide;
    const bool inside = x >= 0 && x < picture.width && y >= 0 && y < picture.height;
    const Bgr pixel = inside ? picture.at(x, y) : Bgr{};
    memory.picture[i][0] = static_cast<float>(pixel.b);
    memory.picture[i][1] = static_cast<float>(pixel.g);
    memory.picture[i][2] = static_cast<float>(pixel.r);
  }
}

/// Four channels of the convolution of the picture at a pixel of the tile.
template <int kTile>
__device__ float4 convolve_picture(const DeviceStep& step, const Memory<kTile>& memory, int pixel,
                                   int channel) {
  constexpr int kSide = Shape<kTile>::kSide, kPictureSide = Shape<kTile>::kPictureSide;
  float4 sum = quad(&memory.picture_weights[27][channel]);
  const int corner = 2 * (pixel / kSide) * kPictureSide + 2 * (pixel % kSide);
#pragma unroll
  for (int i = 0; i < 27; ++i) {
    const int colour = i / 9, tap = i % 9;
    add_product(sum, memory.picture[corner + tap / 3 * kPictureSide + tap % 3][colour],
                quad(&memory.picture_weights[i][channel]));
  }
  return rectified_if(step.picture_relu, sum);
}

/// A tile of what a step begins with: `count` channels from `first` on, 0 outside of the tensor.
/// Complete once finish_copies() is over.
template <int kTile, int kRow>
__device__ void fill(const DeviceStep& step, Memory<kTile>& memory, float (*to)[kRow], int left,
                     int top, int first, int count) {
  using S = Shape<kTile>;
  if (step.source == StepSource::kPicture) {
    copy_table<S::kThreads>(memory.picture_weights, step.picture_weights, step.padded_source, 0, 28,
                            first, count);
    finish_copies();
  }
  const Rows rows(S::kThreads, shift_of(count));
  if (rows.channel >= count) return;
#pragma unroll 4
  for (int pixel = rows.row; pixel < S::kPixels; pixel += rows.rows) {
    const int x = left + pixel % S::kSide, y = top + pixel / S::kSide;
    float* const at = &to[pixel][rows.channel];
    if (x < 0 || x >= step.columns || y < 0 || y >= step.rows) {
      quad(at) = {0, 0, 0, 0};
    } else if (step.source == StepSource::kTensor) {
      copy_later(at, step.input +
                         (size(y) * size(step.columns) + size(x)) * size(step.input_floats) +
                         size(first + rows.channel));
    } else if (step.source == StepSource::kPicture) {
      quad(at) = convolve_picture(step, memory, pixel, rows.channel);
    } else {
      quad(at) = read_source(step, x, y, first + rows.channel);
    }
  }
}

/// The pointwise convolution of a tile, four channels a thread at some pixels, into `middle`.
template <int kTile>
__device__ void convolve_points(const DeviceStep& step, Memory<kTile>& memory, int left, int top,
                                int first) {
  using S = Shape<kTile>;
  const Rows rows(S::kThreads, shift_of(step.group_channels));
  const int channel = rows.channel;
  float4 sums[S::kMost];
  const float4 bias =
      quad(step.pointwise + size(step.source_channels) * size(step.padded) + size(first + channel));
  const int chunk = step.source == StepSource::kPicture ? kGroup : S::kChunk;
  for (int from = 0; from < step.source_channels; from += chunk) {
    const int count = min(chunk, step.source_channels - from);
    if (from > 0) __syncthreads();
    copy_table<S::kThreads>(memory.pointwise, step.pointwise, step.padded, from, count, first,
                            step.group_channels);
    fill(step, memory, memory.source, left, top, from, count);
    finish_copies();
    if (from == 0) {
      for (float4& sum : sums) sum = bias;
    }
    const float* source[S::kMost];
#pragma unroll
    for (int k = 0; k < S::kMost; ++k)
      source[k] = memory.source[min(rows.row + k * rows.rows, S::kPixels - 1)];
    int c = 0;
    for (; c + 4 <= count; c += 4) {
      const float4 w0 = quad(&memory.pointwise[c][channel]),
                   w1 = quad(&memory.pointwise[c + 1][channel]),
                   w2 = quad(&memory.pointwise[c + 2][channel]),
                   w3 = quad(&memory.pointwise[c + 3][channel]);
#pragma unroll
      for (int k = 0; k < S::kMost; ++k) {
        if (k * rows.rows >= S::kPixels) break;
        const float4 value = quad(source[k] + c);
        add_product(sums[k], value.x, w0);
        add_product(sums[k], value.y, w1);
        add_product(sums[k], value.z, w2);
        add_product(sums[k], value.w, w3);
      }
    }
    for (; c < count; ++c) {
      const float4 w = quad(&memory.pointwise[c][channel]);
#pragma unroll
      for (int k = 0; k < S::kMost; ++k) add_product(sums[k], source[k][c], w);
    }
  }
#pragma unroll
  for (int k = 0; k < S::kMost; ++k) {
    const int pixel = rows.row + k * rows.rows;
    if (pixel >= S::kPixels) break;
    const int x = left + pixel % S::kSide, y = top + pixel / S::kSide;
    const bool inside = x >= 0 && x < step.columns && y >= 0 && y < step.rows;
    quad(&memory.middle[pixel][channel]) =
        inside ? rectified_if(step.pointwise_relu, sums[k]) : float4{0, 0, 0, 0};
  }
}

/// The depthwise convolution, or `middle` as it is, into memory.
template <int kTile>
__device__ void write(const DeviceStep& step, const Memory<kTile>& memory, int left, int top,
                      int first) {
  using S = Shape<kTile>;
  const Rows rows(S::kThreads, shift_of(step.group_channels));
  const int channel = rows.channel;
  for (int i = rows.row; i < kTile * kTile; i += rows.rows) {
    const int tx = i % kTile, ty = i / kTile;
    const int x = left + 1 + tx, y = top + 1 + ty;
    if (x >= step.columns || y >= step.rows) continue;
    float4 value;
    if (step.depthwise) {
      value = quad(&memory.depthwise[9][channel]);
#pragma unroll
      for (int tap = 0; tap < 9; ++tap) {
        const float4 v = quad(&memory.middle[(ty + tap / 3) * S::kSide + tx + tap % 3][channel]);
        const float4 w = quad(&memory.depthwise[tap][channel]);
        value.x += v.x * w.x;
        value.y += v.y * w.y;
        value.z += v.z * w.z;
        value.w += v.w * w.w;
      }
      value = rectified_if(step.depthwise_relu, value);
    } else {
      value = quad(&memory.middle[(ty + 1) * S::kSide + tx + 1][channel]);
    }
    float* const out = step.output +
                       (size(y) * size(step.columns) + size(x)) * size(step.output_floats) +
                       size(first + channel);
    const int room = step.channels - first - channel;
    if (!step.to_cells) {
      if (room > 0) quad(out) = value;
    } else {
      if (room > 0) out[0] = value.x;
      if (room > 1) out[1] = value.y;
      if (room > 2) out[2] = value.z;
      if (room > 3) out[3] = value.w;
    }
  }
}

/// Blocks that a processor is to hold at once: so few registers has a thread. GPUs of 7.5 hold
/// 1,024 threads.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kLargeBlocks = 2, kSmallBlocks = 3;
#else
constexpr int kLargeBlocks = 3, kSmallBlocks = 5;
#endif

/// A step that is alone in its launch needs no registers: its fields are constants of the launch.
template <int kTile, bool kAlone>
__global__ void __launch_bounds__(Shape<kTile>::kThreads,
                                  kTile == kLargeTile ? kLargeBlocks : kSmallBlocks)
    steps_kernel(const __grid_constant__ DeviceLevel level, ImageView<const Bgr> picture,
                 const std::int32_t* run) {
  using S = Shape<kTile>;
  __shared__ Memory<kTile> memory;
  if (idle(run)) return;
  const DeviceStep& step =
      level.steps[kAlone ? 0
                         : part_of<&DeviceStep::first_block>(level.steps, level.count, blockIdx.x)];
  const int block = static_cast<int>(blockIdx.x - step.first_block);
  const int first = block % step.groups * step.group_channels;
  const int tile = block / step.groups;
  // Of the border.
  const int left = tile % step.tiles_x * kTile - 1, top = tile / step.tiles_x * kTile - 1;
  if (step.depthwise)
    copy_table<S::kThreads>(memory.depthwise, step.depthwise, step.padded, 0, 10, first,
                            step.group_channels);
  if (step.source == StepSource::kPicture) read_picture(memory, picture, left, top);
  if (step.pointwise) {
    convolve_points(step, memory, left, top, first);
  } else {
    fill(step, memory, memory.middle, left, top, first,
         min(step.group_channels, step.padded_source - first));
    finish_copies();
  }
  __syncthreads();
  write(step, memory, left, top, first);
}

}  // namespace

Status NetworkForward::enqueue(ImageView<const Bgr> picture, const std::int32_t* run,
                               Launcher launch) const {
  for (const Level& level : levels_) {
    const bool large = level.tile == kLargeTile, alone = level.level.count == 1;
    const unsigned threads = large ? Shape<kLargeTile>::kThreads : Shape<kSmallTile>::kThreads;
    CUFACE_TRY(launch("running a network's layers",
                      large
                          ? alone ? steps_kernel<kLargeTile, true> : steps_kernel<kLargeTile, false>
                      : alone ? steps_kernel<kSmallTile, true>
                              : steps_kernel<kSmallTile, false>,
                      {level.blocks, threads}, level.level, picture, run));
  }
  return {};
}

}  // namespace cuface::cuda
