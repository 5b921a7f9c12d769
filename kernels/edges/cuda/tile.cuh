// The sets of a tile's ridges, by a block.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/edges/cuda/classify.h"
#include "kernels/edges/cuda/flood.cuh"
#include "kernels/edges/cuda/runs.cuh"

namespace cuface::cuda::edges {

inline constexpr int kTileThreads = 128;
inline constexpr int kTileWords = kTileWidth / kWarp, kWords = kTileWords * kTileHeight;

struct TileBits {
  std::uint32_t ridges[kTileHeight][kTileWords], edges[kTileHeight][kTileWords];
  bool winding;  ///< a flood came to no end: settle_tile()
};

/// The first pixels of a tile's runs, in the order of the picture. They are fewer than the block's
/// threads in most tiles, so that a pass over them takes one step.
struct TileRuns {
  std::uint16_t first[kWords * kWarp / 2];
  std::uint32_t before[kWords / kWarp];  ///< runs of the words before those of a warp
  int count;
};

/// Settles what of a tile needs no look beyond it, by a warp: what hangs together with an edge is
/// one, and what hangs together with neither an edge nor the tile's border is nothing. Of `bits`
/// ridges are left whose sets are still to be found.
__device__ inline void settle_tile(TileBits& bits) {
  static_assert(kTileWords == 2);
  const int row = static_cast<int>(threadIdx.x) % kWarp;
  const auto whole = [](const std::uint32_t* words) {
    return words[0] | std::uint64_t{words[1]} << kWarp;
  };
  const auto set = [](std::uint32_t* words, std::uint64_t to) {
    words[0] = static_cast<std::uint32_t>(to);
    words[1] = static_cast<std::uint32_t>(to >> kWarp);
  };
  constexpr std::uint64_t kSides = 1 | std::uint64_t{1} << (kTileWidth - 1);
  std::uint64_t left = whole(bits.ridges[row]), part = whole(bits.edges[row]);
  // First from the edges, then from the border inwards.
  bool all = true;
#pragma unroll 1
  for (int from_border = 0; from_border < 2 && all; ++from_border) {
    all = flood(left, part);
    if (from_border == 0) {
      set(bits.edges[row], part);
      if (!all) break;
      left &= ~part;
      part = row == 0 || row == kTileHeight - 1 ? left : left & kSides;
    } else if (all) {
      left = part;
    }
  }
  set(bits.ridges[row], left);
  if (row == 0) bits.winding = !all;
}

/// The row above a run, and what of it the run touches: bit 1 + i stands for pixel i of the run's
/// word, bit 0 and 33 for the pixels beside the word. Pixels of one run are neighbours there.
__device__ inline std::uint64_t touched_above(const TileBits& bits, int row, int word,
                                              std::uint32_t run) {
  if (row == 0) return 0;
  const std::uint32_t* above = bits.ridges[row - 1];
  std::uint64_t wide = static_cast<std::uint64_t>(above[word]) << 1;
  if (word > 0) wide |= above[word - 1] >> (kWarp - 1);
  if (word + 1 < kTileWords) wide |= static_cast<std::uint64_t>(above[word + 1] & 1) << (kWarp + 1);
  const std::uint64_t own = static_cast<std::uint64_t>(run) << 1;
  return wide & (own | own << 1 | own >> 1);
}

/// A thread a word; all threads of the block call it.
__device__ inline void list_runs(const TileBits& bits, TileRuns& runs) {
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp, lane = thread % kWarp;
  std::uint32_t starts = 0, place = 0;
  if (thread < kWords) {
    const std::uint32_t ridges = bits.ridges[thread / kTileWords][thread % kTileWords];
    starts = ridges & ~(ridges << 1);
    place = prefix_sum(static_cast<std::uint32_t>(__popc(starts)));
    if (lane == kWarp - 1) runs.before[warp] = place;
    place -= static_cast<std::uint32_t>(__popc(starts));
  }
  __syncthreads();
  static_assert(kWords == 2 * kWarp);
  if (thread == kWords - 1)
    runs.count =
        static_cast<int>(runs.before[0] + place + static_cast<std::uint32_t>(__popc(starts)));
  if (warp == 1) place += runs.before[0];
  for (; starts; starts &= starts - 1)
    runs.first[place++] =
        static_cast<std::uint16_t>(thread * kWarp + __ffs(static_cast<int>(starts)) - 1);
}

/// The sets of a tile's runs, in shared memory, and from there in out.parents.
///
/// A run first hangs on an edge or on the first run that it touches, which needs no atomics and
/// makes one tree of most sets; jumps flatten it. The few other touches are unions.
__device__ inline void unite_tile(const TileBits& bits, TileRuns& runs, int tile_x, int tile_y,
                                  int words, std::uint32_t* parents, std::uint32_t* out) {
  const auto node_of = [](int row, int column) {
    return static_cast<std::uint32_t>(1 + row * kTileWidth + column);
  };
  const auto run_of = [&](int row, int column) {
    return node_of(
        row, column / kWarp * kWarp + run_start(bits.ridges[row][column / kWarp], column % kWarp));
  };
  list_runs(bits, runs);
  __syncthreads();
  // each(row, word, the run's first bit, the run)
  const auto each_run = [&](const auto& each) {
    for (int i = static_cast<int>(threadIdx.x); i < runs.count; i += kTileThreads) {
      const int row = runs.first[i] / kTileWidth, column = runs.first[i] % kTileWidth;
      const int word = column / kWarp, start = column % kWarp;
      each(row, word, start, run_from(bits.ridges[row][word], start));
    }
  };
  const auto begins_behind_another = [&](int row, int word, int start) {
    return start == 0 && word > 0 && bits.ridges[row][word - 1] >> (kWarp - 1) != 0;
  };
  const auto above = [&](int row, int word, std::uint64_t touched) {
    return run_of(row - 1, word * kWarp + __ffsll(static_cast<long long>(touched)) - 2);
  };

  if (threadIdx.x == 0) parents[kEdgeNode] = kEdgeNode;
  each_run([&](int row, int word, int start, std::uint32_t run) {
    const std::uint32_t node = node_of(row, word * kWarp + start);
    const std::uint64_t touched = touched_above(bits, row, word, run);
    parents[node] = bits.edges[row][word] & run               ? kEdgeNode
                    : begins_behind_another(row, word, start) ? run_of(row, word * kWarp - 1)
                    : touched                                 ? above(row, word, touched)
                                                              : node;
  });
  // Trees of what winds are worth being flattened first. One is no deeper than a tile's rows and
  // words. Others jump meanwhile: what is read is an ancestor all the same.
  for (int depth = bits.winding ? kTileHeight * kTileWords : 1; depth > 1; depth /= 2) {
    __syncthreads();
    each_run([&](int row, int word, int start, std::uint32_t) {
      volatile std::uint32_t* parent = parents;
      const std::uint32_t node = node_of(row, word * kWarp + start);
      parent[node] = parent[parent[node]];
    });
  }
  __syncthreads();
  each_run([&](int row, int word, int start, std::uint32_t run) {
    const std::uint32_t node = node_of(row, word * kWarp + start);
    const bool edge = (bits.edges[row][word] & run) != 0;
    bool behind = begins_behind_another(row, word, start);
    std::uint64_t touched = touched_above(bits, row, word, run);
    const auto without_first = [](std::uint64_t set) { return set & (set + (set & (0 - set))); };
    // What it hangs on is united already.
    if (!edge && behind)
      behind = false;
    else if (!edge)
      touched = without_first(touched);
    while (behind || touched) {
      unite(parents, node, behind ? run_of(row, word * kWarp - 1) : above(row, word, touched));
      if (!behind) touched = without_first(touched);
      behind = false;
    }
  });
  __syncthreads();
  // Places are in the order of the picture in both.
  const auto place = [&](int row, int column) {
    return 1 +
           (static_cast<std::uint32_t>(tile_y + row) * static_cast<std::uint32_t>(words)) * kWarp +
           static_cast<std::uint32_t>(tile_x + column);
  };
  each_run([&](int row, int word, int start, std::uint32_t) {
    const int column = word * kWarp + start;
    const std::uint32_t root = root_of(parents, node_of(row, column));
    const int at = static_cast<int>(root) - 1;
    out[place(row, column)] =
        root == kEdgeNode ? kEdgeNode : place(at / kTileWidth, at % kTileWidth);
  });
}

}  // namespace cuface::cuda::edges
