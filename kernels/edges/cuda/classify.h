// From a grey picture to its ridges and edges as bits, in one kernel.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/convolve/convolve.h"
#include "kernels/edges/rules.h"

namespace cuface::cuda::edges {

/// A block's pixels; the sets of one are found in it.
inline constexpr int kTileWidth = 64, kTileHeight = 32;

struct Blur {
  std::int32_t size = 1;
  std::int32_t weights[kMostBlur] = {256};
};

/// What the kernel writes. Bit maps are as wide as whole tiles, in words of 32 pixels; what has no
/// data is not wanted.
struct ClassifyViews {
  ImageView<std::uint8_t> magnitude, angle;  ///< as EdgeViews has them
  /// What Linking takes in: ridge pixels above `low`; of kApron all pixels above it; of kNone
  /// the edges.
  ImageView<std::uint32_t> ridges;
  /// Of kHysteresis with all that hangs together with them in their tile.
  ImageView<std::uint32_t> edges;
  std::uint32_t* parents;  ///< of the other nodes (runs.cuh), united within each tile
};

Status classify(ImageView<const std::uint8_t> grey, const EdgeRules& rules, const Blur& blur,
                const OctaveTable& octave, const ClassifyViews& out, Launcher launch);

}  // namespace cuface::cuda::edges
