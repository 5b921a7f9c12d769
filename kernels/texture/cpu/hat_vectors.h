// The vector versions of a HAT descriptor with eight directions: a vector is a pixel's.
#pragma once

#include <span>

#include "kernels/texture/float_hat.h"

namespace cuface::texture {

inline constexpr int kVectorBins = 8;

/// As describe_hat() and weigh_hat() with kVectorBins directions.
float describe_hat_vector(const HatPatch& patch, std::span<const HatTaps> rows,
                          std::span<const HatTaps> columns, float* sums, float* out);
float weigh_hat_vector(const float* descriptor, const float* coefficients, int histograms);

}  // namespace cuface::texture
