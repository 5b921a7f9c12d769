// One descriptor against all of a set, by vectors. Both need simd::vectors().
#pragma once

#include "kernels/match/match.h"

namespace cuface::match {

/// out[i] := hamming(query, train.at(i)).
void hamming_row(const std::uint8_t* query, const BinarySet& train, float* out);

/// out[i] := squared_distance(query, train.at(i), train.size).
void squared_row(const float* query, const FloatSet& train, float* out);

}  // namespace cuface::match
