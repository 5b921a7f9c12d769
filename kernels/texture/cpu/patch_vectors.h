// The vector version of a patch's products with rows: a vector is of rows.
#pragma once

#include <span>

namespace cuface::texture {

/// As add_rows().
void add_rows_vector(const float* block, int size, std::span<const float* const> patches,
                     float* costs);

}  // namespace cuface::texture
