// The tables of a search that takes pairs of windows, one above the other, through the first
// stages. A word of its sums holds what both windows read, 16 bits each.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "kernels/cascade/cascade.h"

namespace cuface::cuda {

/// By what a node's value is made of. Of small ones it is one sum of corners. At most 128 pixels
/// count with either sign, so value + 2^15 is exact in 16 bits.
enum class PairShape : std::int32_t {
  kEdge,    ///< two halves: 6 corners
  kStripe,  ///< the middle third of three stripes: 4 corners, and the 4 that are so far from them
  kChecks,  ///< two by two: the left 3 of 9 corners, and how far it is to the others of their rows
  kLarge,   ///< the others: by LargeShape
};
inline constexpr int kPairShapes = 4;

/// Large ones are made of sums of an inner part and of the rest of the feature. Each has at most
/// 257 pixels, so it is exact in 16 unsigned bits.
enum class LargeShape : std::uint32_t {
  kLine,   ///< inner or 2 inner - rest: the inner part, the feature
  kTwo,    ///< the inner part is two rectangles: these, the feature
  kWide3,  ///< 2 inner - a rest of two rectangles, too large together: inner, and these
};

/// A node, four words at a time: threshold, left leaf less the right one. Of small ones, then,
/// bytes to each corner or from one to the other, and of checks the sign. Of large ones the factor
/// of the inner part, the LargeShape, and bytes to the corners of two or three rectangles.
constexpr int pair_node_size(PairShape shape) { return shape == PairShape::kLarge ? 4 : 2; }

inline constexpr int kPairThreads = 256;    ///< of a block
inline constexpr int kMostPairGroups = 32;  ///< of 32 pairs, of a tile

struct PairStage {
  std::int32_t first;                ///< of PairNodes::nodes; they lie shape by shape
  std::int32_t count[kPairShapes];   ///< nodes of each shape
  std::int32_t base, fails, passes;  ///< as SearchStage
  /// In how many parts warps share the trees, for each number of groups of pairs less one.
  std::uint8_t slices[kMostPairGroups];
};

/// The first stages: an argument of the kernel.
struct PairNodes {
  static constexpr int kMostSize = 1152, kStages = 12;
  const uint4* nodes;  ///< in device memory: for windows with step 1, then for those with step 2
  std::int32_t size;   ///< of those of one step
  PairStage stage[kStages];
  std::int32_t stage_count;
  std::int32_t dense_stages;  ///< that all windows go through, listed or not: 1 at least
};

/// The first stages of the cascade, at most `most`, for both steps' layouts. Nodes are added to
/// `nodes`. Stages behind one that cannot be taken in pairs are left out.
PairNodes pair_nodes(const CascadeModel& model, const SumLayout (&layouts)[2], int most,
                     std::vector<uint4>& nodes);

}  // namespace cuface::cuda
