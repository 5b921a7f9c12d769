// The tables of a search that takes pairs of windows, one above the other, through the first
// stages: a word of its sums holds what both windows read, 16 bits each.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cascade/cascade.h"

namespace cuface::cuda {

/// By what a node's value is made of: sums of an inner part and of the rest of the feature. Each is
/// of at most 257 pixels, so that it is exact in 16 bits; and is used unsigned.
enum class PairShape : std::int32_t {
  kEdge,   ///< inner - rest, from 6 corners
  kLine2,  ///< inner - rest, 8 corners
  kLine3,  ///< 2 inner - rest, 8 corners
  kWide3,  ///< the rest is two rectangles, too large together: 8 corners, two at each of four ends
  kTwo,    ///< the inner part is two rectangles: inner - rest, 12 corners
};
inline constexpr int kPairShapes = 5;

/// Words of a node: threshold, left leaf less the right one, then bytes to each corner.
constexpr int pair_node_words(PairShape shape) {
  return shape == PairShape::kEdge ? 8 : shape == PairShape::kTwo ? 14 : 10;
}

struct PairStage {
  std::int32_t first_word;           ///< of its nodes, which lie shape by shape
  std::int32_t count[kPairShapes];   ///< nodes of each shape
  std::int32_t base, fails, passes;  ///< as SearchStage
};

/// The first stages: an argument of the kernel. (Before 12.1 kernels take 4 KB.)
struct PairNodes {
  static constexpr int kWords = CUDART_VERSION >= 12010 ? 3840 : 380;
  static constexpr int kStages = 12;
  std::uint32_t word[2][kWords];  ///< for windows with step 1, then with step 2
  PairStage stage[kStages];
  std::int32_t stage_count;
};

/// The first stages of the cascade, at most `most`, for both steps' layouts; those behind one that
/// cannot be taken in pairs are left out.
PairNodes pair_nodes(const CascadeModel& model, const SumLayout (&layouts)[2], int most);

}  // namespace cuface::cuda
