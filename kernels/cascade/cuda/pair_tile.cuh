// A tile that is searched by pairs of windows, and its sums.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "kernels/cascade/cuda/pair_stages.cuh"
#include "kernels/cascade/cuda/survivors.cuh"
#include "kernels/cascade/cuda/tile.cuh"

namespace cuface::cuda {

/// Begins to copy a tile's pixels, which begin at whole words, to shared memory. Behind the last
/// pixel of a row, in its last word, there are more pixels if `has_more`.
__device__ inline void copy_pixels(const ImageView<const std::uint8_t>& pixels, int width,
                                   int height, bool has_more, std::uint32_t* to) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int words = tile_words(width), whole = has_more ? words : width / kWordBytes;
  for (int y = static_cast<int>(threadIdx.x) / kWarp; y < height;
       y += static_cast<int>(blockDim.x) / kWarp) {
    const std::uint8_t* row = pixels.row(y);
    for (int i = lane; i < words; i += kWarp) {
      if (i < whole) {
        __pipeline_memcpy_async(to + y * words + i, row + i * kWordBytes, kWordBytes);
      } else {
        for (int x = i * kWordBytes; x < width; ++x)
          reinterpret_cast<std::uint8_t*>(to + y * words)[x] = row[x];
      }
    }
  }
}

/// The word of tile_sums that make_squares() leaves for a window.
__device__ inline int place_of_squares(int row, int column) {
  return row * kTileColumns + ((row + column) & (kTileColumns - 1));  // neither way in one bank
}

/// Makes the sum of squares of each window of a tile, less a border of one. The window moves down,
/// then along the rows. Windows behind the last column have any sum.
__device__ inline void make_squares(const std::uint8_t* pixels, int width, int rows, int step,
                                    int window_width, int window_height) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int pixel_stride = tile_words(width) * kWordBytes, stride = width | 1;
  const int parts = max(threads / width, 1), each = (rows + parts - 1) / parts;
  for (int i = thread; i < parts * width; i += threads) {
    const int part = i / width, x = i - part * width, end = min((part + 1) * each, rows);
    if (part * each >= end) continue;
    const std::uint8_t* out = pixels + (part * each * step + 1) * pixel_stride + x;
    const std::uint8_t* in = out;
    std::uint32_t sum = 0;
    const auto square = [](std::uint32_t v) { return v * v; };
#pragma unroll 6
    for (int y = 2; y < window_height; ++y, in += pixel_stride) sum += square(*in);
    tile_sums[part * each * stride + x] = sum;
#pragma unroll 4
    for (int j = part * each + 1; j < end; ++j) {
      sum += square(*in) - square(*out);
      if (step == 2) sum += square(in[pixel_stride]) - square(out[pixel_stride]);
      in += step * pixel_stride;
      out += step * pixel_stride;
      tile_sums[j * stride + x] = sum;
    }
  }
  __syncthreads();
  // A lane a row, a warp some columns.
  constexpr int kRun = kTileColumns * kWarp / static_cast<int>(kPairThreads);
  const int row = min(thread % kWarp, rows - 1), begin = thread / kWarp * kRun;
  const std::uint32_t* out = tile_sums + row * stride + begin * step + 1;
  const std::uint32_t* in = out;
  std::uint32_t sums[kRun] = {};
#pragma unroll 6
  for (int x = 2; x < window_width; ++x) sums[0] += *in++;
#pragma unroll
  for (int u = 1; u < kRun; ++u) {
    sums[u] = sums[u - 1] + *in - *out;
    if (step == 2) sums[u] += in[1] - out[1];
    in += step;
    out += step;
  }
  __syncthreads();
#pragma unroll
  for (int u = 0; u < kRun; ++u)
    if (row == thread % kWarp) tile_sums[place_of_squares(row, begin + u)] = sums[u];
  __syncthreads();
}

/// Sums of the tile's pixels as make_sums() has them. The upper 16 bits hold those of a window
/// further down: sum + (sum `step` rows below) * 2^16. What is added and subtracted of such words
/// holds both windows' results, each exact if it lies in 0 .. 65535.
__device__ inline void make_pair_sums(const std::uint8_t* pixels, int width, int height, int step,
                                      int stride) {
  const int pixel_stride = tile_words(width) * kWordBytes;
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
      const std::uint8_t* in = pixels + min(y + r * warps, height - 1) * pixel_stride + begin - 1;
#pragma unroll
      for (int k = 0; k < kMostEach; ++k) v[r][k] = k < count && begin + k > 0 ? in[k] : 0;
    }
    std::uint32_t sum[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int k = 0; k < kMostEach; ++k) {
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
    if (step == 2) sum = at[y++ * stride];
    const auto add = [&](std::uint32_t in) {
      const std::uint32_t upper = step == 1 ? sum : before;
      before = sum;
      sum += in;
      at[(y - step) * stride] = upper + (sum << 16);
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
    at[height * stride] = sum;
    if (step == 2) at[(height - 1) * stride] = before;
  }
  __syncthreads();
}

/// A tile by pairs of rows of windows. A pair of windows is that row times kTileColumns, plus its
/// column.
struct PairTile {
  // A pair in a list: which of its windows are alive, and its number.
  static constexpr int kUpper = 1 << 14, kLower = 1 << 15, kPair = kUpper - 1;
  static constexpr int kRowPairs = kTileColumns / kWarp;  // of a row, per thread of a warp

  const TileTable& table;
  const CascadeView& by_patch;  ///< bound to a window alone
  const PairNodes& nodes;
  const SearchOutput& out;
  Tile tile;
  int step, stride;
  ImageView<const std::uint8_t> pixels;  ///< the tile's first
  std::uint32_t place;                   ///< bytes to it
  Two<float>* norm;                      ///< per pair
  Two<std::int32_t>* sums;               ///< of a stage, per entry of a list; 0 between
  std::uint16_t* list;                   ///< the pairs that are left
  std::uint16_t* by_bank;                ///< those of the next stage, the banks' first, second, ...
  uint4* stage_nodes;                    ///< those of PairNodes with this step

  __device__ PairTile(const TileTable& table, const CascadeView& by_patch, const PairNodes& nodes,
                      const ImageView<const std::uint8_t>& atlas, const SearchOutput& out,
                      const Tile& tile)
      : table(table),
        by_patch(by_patch),
        nodes(nodes),
        out(out),
        tile(tile),
        step(tile.level->step),
        stride(table.stride[step - 1]),
        pixels(atlas),
        norm(reinterpret_cast<Two<float>*>(tile_sums + table.list_offset[step - 1])),
        sums(reinterpret_cast<Two<std::int32_t>*>(norm + list_size())),
        list(reinterpret_cast<std::uint16_t*>(sums + list_size())),
        by_bank(list + list_size()),
        stage_nodes(reinterpret_cast<uint4*>(tile_sums + table.node_offset[step - 1])) {
    pixels.data = atlas.row(tile.level->y + tile.y * step) + tile.level->x + tile.x * step;
    place = static_cast<std::uint32_t>(pixels.data - atlas.data);
  }
  __device__ int list_size() const { return table.rows[step - 1] * kTileColumns / 2; }
  __device__ int row_pairs() const { return (tile.rows + 1) / 2; }
  /// Bytes from the first sum.
  __device__ int corner(int pair) const {
    return (pair / kTileColumns * 2 * step * stride + pair % kTileColumns) * kWordBytes;
  }
  /// A window's first pixel, in the tile.
  __device__ int left(int pair) const { return pair % kTileColumns * step; }
  __device__ int top(int pair, int half) const { return (pair / kTileColumns * 2 + half) * step; }
  __device__ Survivor survivor(int s, int pair, int half, float window_norm) const {
    return {place + static_cast<std::uint32_t>(top(pair, half) * static_cast<int>(pixels.stride) +
                                               left(pair)),
            window_norm,
            static_cast<std::uint16_t>(tile.level - table.levels),
            static_cast<std::uint16_t>(s),
            static_cast<std::uint16_t>(tile.x * step + left(pair)),
            static_cast<std::uint16_t>(tile.y * step + top(pair, half))};
  }
  /// By the definition, for a whole warp.
  __device__ bool passes(int s, int pair, int half, float window_norm) const {
    if (threadIdx.x % kWarp == 0) atomicAdd(&out.counts->exact, 1u);
    return passes_by_pixels(by_patch, by_patch.stages[s], pixels.row(top(pair, half)) + left(pair),
                            pixels.stride, table.width + 1, window_norm);
  }
};

/// The sums of the tile's pixels, and in the place of norms the sums of squares that they need;
/// t.sums is 0.
__device__ inline void make_sums_and_squares(const PairTile& t) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int lane = thread % kWarp, warp = thread / kWarp;
  const int width = (t.tile.columns - 1) * t.step + t.table.width;
  const int height = (t.tile.rows - 1) * t.step + t.table.height;
  auto* pixels = reinterpret_cast<std::uint32_t*>(t.norm);  // in place of all that follows
  copy_pixels(t.pixels, width, height, t.tile.left_tiles + 1 < t.tile.level->tiles_across, pixels);
  for (int i = thread; i < t.nodes.size; i += threads)
    __pipeline_memcpy_async(t.stage_nodes + i, t.nodes.nodes + (t.step - 1) * t.nodes.size + i,
                            sizeof(uint4));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(pixels);
  make_squares(bytes, width, t.tile.rows, t.step, t.table.width, t.table.height);
  constexpr int kRows = kMostTileRows / 2 / (kPairThreads / kWarp);
  Two<float> squares[kRows][PairTile::kRowPairs];
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int u = 0; u < PairTile::kRowPairs; ++u) {
      const int j = warp + r * (kPairThreads / kWarp), x = lane + u * kWarp;
      if (j >= t.row_pairs()) continue;
      const auto of = [&](int row) { return __uint_as_float(tile_sums[place_of_squares(row, x)]); };
      squares[r][u] = {of(2 * j), 2 * j + 1 < t.tile.rows ? of(2 * j + 1) : 0.0f};
    }
  __syncthreads();
  make_pair_sums(bytes, width, height, t.step, t.stride);
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int u = 0; u < PairTile::kRowPairs; ++u) {
      const int j = warp + r * (kPairThreads / kWarp);
      if (j < t.row_pairs()) t.norm[j * kTileColumns + lane + u * kWarp] = squares[r][u];
    }
  for (int i = thread; i < t.list_size(); i += threads) t.sums[i] = {0, 0};
  __syncthreads();  // who takes a row is not who wrote it where warps share the last ones
}

}  // namespace cuface::cuda
