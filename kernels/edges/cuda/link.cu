#include <cstddef>

#include "kernels/edges/cuda/classify.h"
#include "kernels/edges/cuda/link.h"
#include "kernels/edges/cuda/runs.cuh"

namespace cuface::cuda::edges {
namespace {

using Words = ImageView<const std::uint32_t>;

constexpr int kThreads = 256;
constexpr int kBlockX = 64, kBlockY = 4;
constexpr int kQuad = 4;  // pixels of a thread
constexpr int kQuads = kWarp / kQuad;

__device__ inline std::uint32_t word_at(Words words, int i, int y) {
  return i >= 0 && i < words.width && y >= 0 && y < words.height ? words.at(i, y) : 0;
}

/// The node of a run that begins at a bit of a word.
__device__ inline std::uint32_t node_at(int words, int i, int y, int start) {
  return 1 +
         (static_cast<std::uint32_t>(y) * static_cast<std::uint32_t>(words) +
          static_cast<std::uint32_t>(i)) *
             kWarp +
         static_cast<std::uint32_t>(start);
}

/// First the pixels below a border, row by row, then those to the right of one, column by column.
__global__ void __launch_bounds__(kThreads)
    join_kernel(Words ridges, Words edges, std::uint32_t* parents, unsigned below, unsigned all) {
  const unsigned thread = blockIdx.x * kThreads + threadIdx.x;
  if (thread >= all) return;
  const auto has = [&](int x, int y) {
    return x >= 0 && (word_at(ridges, x / kWarp, y) >> (x % kWarp) & 1) != 0;
  };
  // Which pairs of pixels touch, a bit each: threads that have different ones unite them together.
  std::uint32_t pairs = 0;
  int x, y;
  const bool is_below = thread < below;
  if (is_below) {
    const auto width = static_cast<unsigned>(ridges.width) * kWarp;
    x = static_cast<int>(thread % width);
    y = static_cast<int>(thread / width + 1) * kTileHeight;
    if (!has(x, y)) return;
    unite_above(has(x - 1, y), has(x + 1, y), has(x - 1, y - 1), has(x, y - 1), has(x + 1, y - 1),
                [&](int by) { pairs |= 1u << (by + 1); });
  } else {
    const auto height = static_cast<unsigned>(ridges.height);
    x = static_cast<int>((thread - below) / height + 1) * kTileWidth;
    y = static_cast<int>((thread - below) % height);
    const bool here = has(x, y), left = has(x - 1, y);
    if (here && left) pairs = 1;
    // The first row of a tile is united with the row above it already.
    if (here != left && y % kTileHeight != 0) {
      if (here && has(x - 1, y - 1) && !has(x, y - 1)) pairs = 2;
      if (left && has(x, y - 1) && !has(x - 1, y - 1)) pairs = 4;
    }
  }
  const auto node = [&](int i, int j) {
    const int word = i / kWarp, bit = i % kWarp;
    if ((edges.at(word, j) >> bit & 1) != 0) return kEdgeNode;
    return node_at(ridges.width, word, j, run_start(ridges.at(word, j), bit));
  };
  const auto join = [&](std::uint32_t a, std::uint32_t b) {
    if (a != b) unite(parents, a, b);
  };
  for (; pairs; pairs &= pairs - 1) {
    const int pair = __ffs(static_cast<int>(pairs)) - 1;
    if (is_below)
      join(node(x, y), node(x + pair - 1, y - 1));
    else
      join(node(pair == 2 ? x - 1 : x, y), node(pair == 2 ? x : x - 1, pair ? y - 1 : y));
  }
}

__global__ void __launch_bounds__(kBlockX* kBlockY)
    widen_kernel(Words near, Words edges, int reach, ImageView<std::uint32_t> out) {
  const int i = static_cast<int>(blockIdx.x * kBlockX + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * kBlockY + threadIdx.y);
  if (i >= out.width || y >= out.height) return;
  std::uint32_t around = 0;
  for (int j = y - reach; j <= y + reach; ++j) {
    const std::uint32_t left = word_at(edges, i - 1, j), own = word_at(edges, i, j),
                        right = word_at(edges, i + 1, j);
    around |= own;
    for (int by = 1; by <= reach; ++by)
      around |= own << by | own >> by | left >> (kWarp - by) | right << (kWarp - by);
  }
  out.at(i, y) = edges.at(i, y) | (around & near.at(i, y));
}

/// A thread a quad. `quads` where the map's rows begin at whole words.
template <bool kLinked>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    draw_kernel(Words bits, Words edges, std::uint32_t* parents, ImageView<std::uint8_t> map,
                ImageView<std::uint64_t> map_bits, bool quads) {
  const int quad = static_cast<int>(blockIdx.x * kBlockX + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * kBlockY + threadIdx.y);
  const int i = quad / kQuads, first = quad % kQuads * kQuad;
  const std::uint32_t word = word_at(bits, i, y);
  constexpr std::uint32_t kOnes = (1u << kQuad) - 1;
  std::uint32_t drawn = word >> first & kOnes;
  if (kLinked) {
    const std::uint32_t known = word_at(edges, i, y) >> first;
    std::uint32_t rest = drawn & ~known;
    drawn &= known;
    while (rest) {
      const int start = run_start(word, first + __ffs(static_cast<int>(rest)) - 1);
      const std::uint32_t run = run_from(word, start) >> first & kOnes;
      if (root_of(parents, node_at(bits.width, i, y, start)) == kEdgeNode) drawn |= run;
      rest &= ~run;
    }
  }
  if (map_bits.data) {
    std::uint32_t all = drawn << first;
    for (int by = 1; by < kQuads; by *= 2) all |= __shfl_xor_sync(kAllLanes, all, by);
    if (first == 0 && y < map_bits.height && i < 2 * map_bits.width)
      reinterpret_cast<std::uint32_t*>(map_bits.row(y))[i] = all;
  }
  const int x = quad * kQuad;
  if (!map.data || y >= map.height || x >= map.width) return;
  const std::uint32_t bytes = (drawn * 0x00204081u & 0x01010101u) * 255;
  std::uint8_t* to = &map.at(x, y);
  if (quads && x + kQuad <= map.width) {
    *reinterpret_cast<std::uint32_t*>(to) = bytes;
    return;
  }
  for (int k = 0; k < kQuad && x + k < map.width; ++k)
    to[k] = static_cast<std::uint8_t>(bytes >> (8 * k));
}

unsigned parts(int n, int of) { return static_cast<unsigned>((n + of - 1) / of); }

}  // namespace

Status join_tiles(Words ridges, Words edges, std::uint32_t* parents, Launcher launch) {
  const unsigned below =
      (parts(ridges.height, kTileHeight) - 1) * static_cast<unsigned>(ridges.width) * kWarp;
  const unsigned beside =
      (parts(ridges.width * kWarp, kTileWidth) - 1) * static_cast<unsigned>(ridges.height);
  const unsigned all = below + beside;
  if (all == 0) return {};
  return launch("joining edges", join_kernel, {(all + kThreads - 1) / kThreads, kThreads}, ridges,
                edges, parents, below, all);
}

Status widen(Words near, Words edges, int reach, ImageView<std::uint32_t> out, Launcher launch) {
  const dim3 grid(parts(out.width, kBlockX), parts(out.height, kBlockY));
  return launch("widening edges", widen_kernel, {grid, dim3(kBlockX, kBlockY)}, near, edges, reach,
                out);
}

Status draw(Words bits, Words edges, std::uint32_t* parents, ImageView<std::uint8_t> map,
            ImageView<std::uint64_t> map_bits, Launcher launch) {
  const dim3 grid(parts(bits.width * kQuads, kBlockX), parts(bits.height, kBlockY));
  const bool quads =
      reinterpret_cast<std::uintptr_t>(map.data) % kQuad == 0 && map.stride % kQuad == 0;
  return launch("drawing edges", parents ? draw_kernel<true> : draw_kernel<false>,
                {grid, dim3(kBlockX, kBlockY)}, bits, edges, parents, map, map_bits, quads);
}

}  // namespace cuface::cuda::edges
