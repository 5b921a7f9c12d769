// Blending of whole tiles by vector code: the bytes of raster::blended().
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/overlay/primitives.h"

namespace cuface::raster {

/// Coverage of kTile x kTile pixels, 0..256, and which part of each row, [first, last), may not be
/// 0.
struct CoverageTile {
  std::uint16_t coverage[kTile][kTile];
  int first[kTile], last[kTile];
};

/// Blends a colour into 8-bit samples that lie side by side; `at` is the tile's first. A sample is
/// one pixel (blend_tile_1) or 2 x 2 (blend_tile_2). Needs simd::vectors().
void blend_tile_1(std::uint8_t* at, std::ptrdiff_t stride, const CoverageTile& tile, int color,
                  int alpha);
void blend_tile_2(std::uint8_t* at, std::ptrdiff_t stride, const CoverageTile& tile, int color,
                  int alpha);

}  // namespace cuface::raster
