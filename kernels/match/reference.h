// Distances, plainly. Sums of floats have 16 parts: part k begins at 0 and takes values k, k + 16,
// ... in turn. Then parts 8 apart are added, 4, 2, 1.
#pragma once

#include <cstdint>

namespace cuface::match {

inline constexpr int kParts = 16;

/// The bits of two binary descriptors that differ.
int hamming(const std::uint8_t* a, const std::uint8_t* b);

/// The sum of the squared differences.
float squared_distance(const float* a, const float* b, int size);

/// Values of the cells in the middle: 16 of 64, 4 of 36; and where the p-th of them is.
inline int centre_values(int size) { return size == 64 ? 16 : 4; }
inline int centre_value(int size, int p) { return size == 64 ? 20 + p + (p >= 8 ? 8 : 0) : 16 + p; }

/// The sum of the products of the cells in the middle: 2 x 2 of the 4 x 4 of a descriptor of 64
/// values, or the one of 3 x 3 of one of 36 values.
float centre_product(const float* a, const float* b, int size);

}  // namespace cuface::match
