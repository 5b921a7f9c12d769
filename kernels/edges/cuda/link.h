// What Linking does in device memory, and the map of it.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/edges/edges.h"

namespace cuface::cuda::edges {

/// Makes one set of runs that touch across the borders of tiles.
Status join_tiles(ImageView<const std::uint32_t> ridges, std::uint32_t* parents, Launcher launch);

/// out := `edges` and all of `near` at most `reach` away from one.
Status widen(ImageView<const std::uint32_t> near, ImageView<const std::uint32_t> edges, int reach,
             ImageView<std::uint32_t> out, Launcher launch);

/// Writes what is wanted of the map: bits that hang together with an edge; all, without `parents`.
Status draw(ImageView<const std::uint32_t> bits, std::uint32_t* parents,
            ImageView<std::uint8_t> map, ImageView<std::uint64_t> map_bits, Launcher launch);

}  // namespace cuface::cuda::edges
