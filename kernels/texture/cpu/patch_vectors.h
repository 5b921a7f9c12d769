// The vector version of a patch's products with rows: a vector is of rows.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/texture/integer_patch.h"

namespace cuface::texture {

/// As add_rows().
void add_rows_vector(const std::int16_t* block, int pairs, const PatchUnits& rows,
                     std::span<const std::int16_t* const> patches, float* costs,
                     float* unlikelihoods);

}  // namespace cuface::texture
