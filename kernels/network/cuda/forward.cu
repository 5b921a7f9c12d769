// A block makes a tile of pixels of some of a step's channels: what the step begins with and its
// pointwise convolution for the tile and a border of one pixel, then the depthwise convolution.
#include <type_traits>

#include "kernels/common/cuda/tables.h"
#include "kernels/common/try.h"
#include "kernels/network/cuda/forward.h"
#include "kernels/network/cuda/tile.cuh"

namespace cuface::cuda {
namespace {

/// Pixels whose loads a thread begins before it uses the first.
constexpr int kAtOnce = 3;

using network::StepSource;

/// Four channels of a pixel of a pool or a sum.
template <StepSource kSource>
__device__ float4 read_source(const DeviceStep& step, int x, int y, int channel) {
  const auto at = [&](const float* tensor, int px, int py, int columns) {
    return quad(tensor + (size(py) * size(columns) + size(px)) * size(step.input_floats) +
                size(channel));
  };
  if constexpr (kSource == StepSource::kPooled) {
    const int columns = 2 * step.columns;
    const auto row = [&](int py) {
      return larger_of(at(step.input, 2 * x, py, columns), at(step.input, 2 * x + 1, py, columns));
    };
    return larger_of(row(2 * y), row(2 * y + 1));
  } else {
    const float4 low = at(step.input, x / 2, y / 2, step.columns / 2);
    const float4 other = at(step.other, x, y, step.columns);
    return {low.x + other.x, low.y + other.y, low.z + other.z, low.w + other.w};
  }
}

/// How many channels of its input, from `from` on, a step looks at at once.
template <int kTile>
__device__ int chunk_at(const TilePart<kTile>& part, int from) {
  const DeviceStep& step = part.step;
  if (!step.pointwise) return min(step.group_channels, step.padded_source - from);
  const int most =
      step.source == StepSource::kPicture ? TileShape<kTile>::kGroup : TileShape<kTile>::kChunk;
  return min(most, step.source_channels - from);
}

/// The weights for these channels.
template <int kTile>
__device__ void copy_weights(const TilePart<kTile>& part, TileMemory<kTile>& memory, int from) {
  constexpr int kThreads = TileShape<kTile>::kThreads;
  const DeviceStep& step = part.step;
  const int count = chunk_at(part, from);
  if (step.pointwise)
    copy_table<kThreads>(memory.pointwise, step.pointwise, step.padded, from, count, part.first,
                         step.group_channels);
  if (step.source == StepSource::kPicture)
    copy_table<kThreads>(memory.picture_weights, step.picture_weights, step.padded_source, 0, 28,
                         from, count);
}

/// The part of the picture, 0 outside of it, that a tile's convolution of the picture reads.
template <int kTile>
__device__ void read_picture(const TilePart<kTile>& part, TileMemory<kTile>& memory,
                             ImageView<const Bgr> picture) {
  using S = TileShape<kTile>;
  constexpr int kSide = S::kPictureSide;
  constexpr int kRounds = (S::kPicturePixels - 1) / S::kThreads + 1;
  Bgr pixels[kRounds];
#pragma unroll
  for (int k = 0; k < kRounds; ++k) {
    const int i = static_cast<int>(threadIdx.x) + k * S::kThreads;
    const int x = 2 * part.left - 1 + i % kSide, y = 2 * part.top - 1 + i / kSide;
    const int px = min(max(x, 0), picture.width - 1), py = min(max(y, 0), picture.height - 1);
    const Bgr read = picture.at(px, py);
    pixels[k] = px == x && py == y ? read : Bgr{};
  }
#pragma unroll
  for (int k = 0; k < kRounds; ++k) {
    const int i = static_cast<int>(threadIdx.x) + k * S::kThreads;
    if (i >= S::kPicturePixels) break;
    memory.picture[i][0] = static_cast<float>(pixels[k].b);
    memory.picture[i][1] = static_cast<float>(pixels[k].g);
    memory.picture[i][2] = static_cast<float>(pixels[k].r);
  }
}

/// The convolution of the picture: four channels of some pixels of the tile.
template <int kPixels, int kTile>
__device__ void convolve_picture(const TilePart<kTile>& part, TileMemory<kTile>& memory,
                                 const TileRows& rows) {
  using S = TileShape<kTile>;
  const float* corner[kPixels];
  float4 sums[kPixels];
#pragma unroll
  for (int k = 0; k < kPixels; ++k) {
    const int pixel = min(rows.row + k * rows.rows, S::kPixels - 1);
    corner[k] = memory.picture[2 * (pixel / S::kSide) * S::kPictureSide + 2 * (pixel % S::kSide)];
    sums[k] = quad(&memory.picture_weights[27][rows.channel]);
  }
#pragma unroll 1
  for (int colour = 0; colour < 3; ++colour) {
#pragma unroll
    for (int tap = 0; tap < 9; ++tap) {
      const float4 w = quad(&memory.picture_weights[colour * 9 + tap][rows.channel]);
#pragma unroll
      for (int k = 0; k < kPixels; ++k)
        add_product(sums[k], corner[k][(tap / 3 * S::kPictureSide + tap % 3) * 3 + colour], w);
    }
  }
#pragma unroll
  for (int k = 0; k < kPixels; ++k) {
    const int pixel = rows.row + k * rows.rows;
    if (pixel >= S::kPixels) break;
    int x, y;
    quad(&memory.tile[pixel][rows.channel]) = part.place(pixel, x, y)
                                                  ? rectified_if(part.step.picture_relu, sums[k])
                                                  : float4{0, 0, 0, 0};
  }
}

/// Pixels that a thread of `rows` has of a tile.
template <int kTile>
__device__ int pixels_of(const TileRows& rows) {
  return (TileShape<kTile>::kPixels + rows.rows - 1) / rows.rows;
}

/// A tile of what a step begins with: channels from `from` on, 0 outside of the tensor. All of it
/// and the weights are there when this returns.
template <int kTile>
__device__ void fill(const TilePart<kTile>& part, TileMemory<kTile>& memory, int from) {
  using S = TileShape<kTile>;
  const DeviceStep& step = part.step;
  const int count = chunk_at(part, from);
  const TileRows rows(S::kThreads, shift_of(count));
  if (step.source == StepSource::kPicture) {
    finish_copies();
    if (rows.channel < count)
      with_pixels<S::kMost>(pixels_of<kTile>(rows), [&](auto pixels) {
        convolve_picture<pixels.value>(part, memory, rows);
      });
    __syncthreads();
    return;
  }
  // Without a branch for pixels outside: loads of one do not wait for those of the one before.
  const auto each_pixel = [&](const auto& make) {
#pragma unroll kAtOnce
    for (int pixel = rows.row; pixel < S::kPixels; pixel += rows.rows) {
      int x, y;
      const bool inside = part.place(pixel, x, y);
      make(&memory.tile[pixel][rows.channel], x, y, inside);
    }
  };
  const auto each_read = [&](auto source) {
    each_pixel([&](float* at, int x, int y, bool inside) {
      const float4 value = read_source<source.value>(step, x, y, from + rows.channel);
      quad(at) = inside ? value : float4{0, 0, 0, 0};
    });
  };
  if (rows.channel >= count) {
  } else if (step.source == StepSource::kTensor) {
    each_pixel([&](float* at, int x, int y, bool inside) {
      const float* const source =
          step.input + (size(y) * size(step.columns) + size(x)) * size(step.input_floats);
      __pipeline_memcpy_async(at, source + size(from + rows.channel), sizeof(float4),
                              inside ? 0 : sizeof(float4));
    });
  } else if (step.source == StepSource::kPooled) {
    each_read(std::integral_constant<StepSource, StepSource::kPooled>());
  } else {
    each_read(std::integral_constant<StepSource, StepSource::kSum>());
  }
  finish_copies();
}

/// Adds what `count` channels of the tile give to four channels of some pixels.
template <int kPixels, int kTile>
__device__ void add_products(const TileMemory<kTile>& memory, const TileRows& rows, int count,
                             float4* sums) {
  using S = TileShape<kTile>;
  const float* source[kPixels];
#pragma unroll
  for (int k = 0; k < kPixels; ++k)
    source[k] = memory.tile[min(rows.row + k * rows.rows, S::kPixels - 1)];
  int c = 0;
#pragma unroll 1
  for (; c + 4 <= count; c += 4) {
    float4 w[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) w[i] = quad(&memory.pointwise[c + i][rows.channel]);
#pragma unroll
    for (int k = 0; k < kPixels; ++k) {
      const float4 value = quad(source[k] + c);
      add_product(sums[k], value.x, w[0]);
      add_product(sums[k], value.y, w[1]);
      add_product(sums[k], value.z, w[2]);
      add_product(sums[k], value.w, w[3]);
    }
  }
#pragma unroll 1
  for (; c < count; ++c) {
    const float4 w = quad(&memory.pointwise[c][rows.channel]);
#pragma unroll
    for (int k = 0; k < kPixels; ++k) add_product(sums[k], source[k][c], w);
  }
}

/// The pointwise convolution of a tile, which takes the place of what it is made of.
template <int kTile>
__device__ void convolve_points(const TilePart<kTile>& part, TileMemory<kTile>& memory) {
  using S = TileShape<kTile>;
  const DeviceStep& step = part.step;
  const TileRows rows(S::kThreads, shift_of(step.group_channels));
  const float4 bias = quad(step.pointwise + size(step.source_channels) * size(step.padded) +
                           size(part.first + rows.channel));
  float4 sums[S::kMost];
#pragma unroll
  for (float4& sum : sums) sum = bias;
  for (int from = 0; from < step.source_channels; from += chunk_at(part, from)) {
    if (from > 0) copy_weights(part, memory, from);
    fill(part, memory, from);
    with_pixels<S::kMost>(pixels_of<kTile>(rows), [&](auto pixels) {
      add_products<pixels.value>(memory, rows, chunk_at(part, from), sums);
    });
    __syncthreads();
  }
#pragma unroll
  for (int k = 0; k < S::kMost; ++k) {
    const int pixel = rows.row + k * rows.rows;
    if (pixel >= S::kPixels) break;
    int x, y;
    quad(&memory.tile[pixel][rows.channel]) =
        part.place(pixel, x, y) ? rectified_if(step.pointwise_relu, sums[k]) : float4{0, 0, 0, 0};
  }
  __syncthreads();
}

/// Four channels of a pixel of the output.
template <int kTile>
__device__ void put(const TilePart<kTile>& part, int x, int y, int channel, const float4& value) {
  const DeviceStep& step = part.step;
  float* const out = step.output +
                     (size(y) * size(step.columns) + size(x)) * size(step.output_floats) +
                     size(part.first + channel);
  const int room = step.channels - part.first - channel;
  if (!step.to_cells) {
    if (room > 0) quad(out) = value;
  } else {
    if (room > 0) out[0] = value.x;
    if (room > 1) out[1] = value.y;
    if (room > 2) out[2] = value.z;
    if (room > 3) out[3] = value.w;
  }
}

/// The depthwise convolution of the tile, or the tile as it is, into memory.
template <int kTile>
__device__ void write(const TilePart<kTile>& part, const TileMemory<kTile>& memory) {
  using S = TileShape<kTile>;
  const DeviceStep& step = part.step;
  const TileRows rows(S::kThreads, shift_of(step.group_channels));
  const int channel = rows.channel;
  for (int i = rows.row; i < S::kWidth * S::kHeight / S::kStrip; i += rows.rows) {
    const int column = i % S::kWidth, row = i / S::kWidth * S::kStrip;
    const auto at = [&](int y, int x) {
      return quad(&memory.tile[(row + y) * S::kSide + column + x][channel]);
    };
    float4 sums[S::kStrip];
    if (step.depthwise) {
      float4 weights[9];
#pragma unroll
      for (int tap = 0; tap < 9; ++tap) weights[tap] = quad(&memory.depthwise[tap][channel]);
#pragma unroll
      for (float4& sum : sums) sum = quad(&memory.depthwise[9][channel]);
#pragma unroll
      for (int y = 0; y < S::kStrip + 2; ++y) {
        const float4 values[3] = {at(y, 0), at(y, 1), at(y, 2)};
#pragma unroll
        for (int s = max(y - 2, 0); s < min(y + 1, S::kStrip); ++s) {
#pragma unroll
          for (int x = 0; x < 3; ++x) {
            const float4& w = weights[(y - s) * 3 + x];
            sums[s].x += values[x].x * w.x;
            sums[s].y += values[x].y * w.y;
            sums[s].z += values[x].z * w.z;
            sums[s].w += values[x].w * w.w;
          }
        }
      }
    } else {
#pragma unroll
      for (int s = 0; s < S::kStrip; ++s) sums[s] = at(s + 1, 1);
    }
    const int x = part.left + 1 + column;
    if (x >= step.columns) continue;
#pragma unroll
    for (int s = 0; s < S::kStrip; ++s) {
      const int y = part.top + 1 + row + s;
      if (y < step.rows)
        put(part, x, y, channel, rectified_if(step.depthwise && step.depthwise_relu, sums[s]));
    }
  }
}

/// A step that is alone in its launch needs no registers: its fields are constants of the launch.
template <int kTile, bool kAlone>
__global__ void __launch_bounds__(TileShape<kTile>::kThreads, TileShape<kTile>::kBlocks)
    steps_kernel(const __grid_constant__ DeviceLevel level, ImageView<const Bgr> picture,
                 const std::int32_t* run) {
  using S = TileShape<kTile>;
  __shared__ TileMemory<kTile> memory;
  if (idle(run)) return;
  const DeviceStep& step =
      level.steps[kAlone ? 0
                         : part_of<&DeviceStep::first_block>(level.steps, level.count, blockIdx.x)];
  const int block = static_cast<int>(blockIdx.x - step.first_block);
  const int tile = block / step.groups;
  const TilePart<kTile> part = {step, block % step.groups * step.group_channels,
                                tile % step.tiles_x * S::kWidth - 1,
                                tile / step.tiles_x * S::kHeight - 1};
  const int from = step.pointwise ? 0 : part.first;
  copy_weights(part, memory, from);
  if (step.depthwise)
    copy_table<S::kThreads>(memory.depthwise, step.depthwise, step.padded, 0, 10, part.first,
                            step.group_channels);
  if (step.source == StepSource::kPicture) read_picture(part, memory, picture);
  if (step.pointwise) {
    convolve_points(part, memory);
  } else {
    fill(part, memory, from);
  }
  write(part, memory);
}

}  // namespace

Status NetworkForward::enqueue(ImageView<const Bgr> picture, const std::int32_t* run,
                               Launcher launch) const {
  const auto run_level = [&]<int kTile>(const Level& level) {
    return launch("running a network's layers",
                  level.level.count == 1 ? steps_kernel<kTile, true> : steps_kernel<kTile, false>,
                  {level.blocks, TileShape<kTile>::kThreads}, level.level, picture, run);
  };
  for (const Level& level : levels_) {
    CUFACE_TRY(level.tile == kWideTile    ? run_level.operator()<kWideTile>(level)
               : level.tile == kLargeTile ? run_level.operator()<kLargeTile>(level)
                                          : run_level.operator()<kSmallTile>(level));
  }
  return {};
}

}  // namespace cuface::cuda
