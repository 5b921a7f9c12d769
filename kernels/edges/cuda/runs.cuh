// Edges as bits in device memory, and which of them hang together.
//
// A word is 32 pixels of a row, a run a row of set bits in it. Runs that touch, along a side or a
// corner, belong to one set. A run's node is one more than the place of its first pixel. Node 0
// stands for everything that hangs together with an edge: so nobody looks for edges in a set, and
// most sets of a natural picture are one step away. A parent is never larger than its node, a root
// is its own: which unions come first changes the tree, never the sets.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/warp.cuh"

namespace cuface::cuda::edges {

inline constexpr std::uint32_t kEdgeNode = 0;

/// The first bit of the run that has this one.
__device__ inline int run_start(std::uint32_t word, int bit) {
  return kWarp - __clz(static_cast<int>(~word & ((1u << bit) - 1)));
}

/// The run that begins at this bit.
__device__ inline std::uint32_t run_from(std::uint32_t word, int start) {
  const std::uint32_t from = word >> start;
  return (from & (from ^ (from + 1))) << start;
}

/// The root of a node's set. On the way nodes get nearer to it; no root is written to, so no union
/// of another thread is lost.
__device__ inline std::uint32_t root_of(std::uint32_t* parents, std::uint32_t node) {
  volatile std::uint32_t* parent = parents;  // others write
  std::uint32_t before = node, at = parent[node];
  if (at == node) return at;
  while (at != kEdgeNode) {
    const std::uint32_t next = parent[at];
    if (next >= at) break;
    parent[before] = next;
    before = at;
    at = next;
  }
  return at;
}

/// Makes one set of two.
__device__ inline void unite(std::uint32_t* parents, std::uint32_t a, std::uint32_t b) {
  for (;;) {
    a = root_of(parents, a);
    b = root_of(parents, b);
    if (a == b) return;
    const std::uint32_t high = a > b ? a : b, low = a > b ? b : a;
    const std::uint32_t before = atomicMin(parents + high, low);
    if (before == high) return;
    // No root any more: what it hung on belongs to the set too.
    a = before;
    b = low;
  }
}

/// Unites a pixel with those above, where no other pixel of the two rows does it. `left`, `right`:
/// the neighbours in its row; join(i): makes one set of the pixel and the one i to the right above.
template <typename Join>
__device__ inline void unite_above(bool left, bool right, bool above_left, bool above,
                                   bool above_right, const Join& join) {
  if (above) {
    if (!(left && above_left)) join(0);
    return;
  }
  if (above_left && !left) join(-1);
  if (above_right && !right) join(1);
}

}  // namespace cuface::cuda::edges
