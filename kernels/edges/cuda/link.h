// What Linking does in device memory, and the map of it.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/launch.h"
#include "kernels/common/image.h"
#include "kernels/common/status.h"
#include "kernels/edges/edges.h"

namespace cuface::cuda::edges {

/// Makes one set of runs that touch across the borders of tiles.
/// `edges` hang together with one already, and no parent of theirs is looked at.
Status join_tiles(ImageView<const std::uint32_t> ridges, ImageView<const std::uint32_t> edges,
                  std::uint32_t* parents, Launcher launch);

/// out := `edges` and all of `near` at most `reach` away from one.
Status widen(ImageView<const std::uint32_t> near, ImageView<const std::uint32_t> edges, int reach,
             ImageView<std::uint32_t> out, Launcher launch);

/// Writes what is wanted of the map: `edges`, and of the other bits those that hang together with
/// one; without `parents` all bits.
Status draw(ImageView<const std::uint32_t> bits, ImageView<const std::uint32_t> edges,
            std::uint32_t* parents, ImageView<std::uint8_t> map, ImageView<std::uint64_t> map_bits,
            Launcher launch);

}  // namespace cuface::cuda::edges
