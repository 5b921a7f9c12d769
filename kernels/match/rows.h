// One descriptor against all of a set, by vectors. Both need simd::vectors().
#pragma once

#include <cstddef>

#include "kernels/match/match.h"

namespace cuface::match {

/// out[i] := hamming(query, train.at(i)).
void hamming_row(const std::uint8_t* query, const BinarySet& train, float* out);

/// out[i] := squared_distance(query, train.at(i), train.size).
void squared_row(const float* query, const FloatSet& train, float* out);

/// The centre parts of a set, value by value: of value p the descriptor i is at p * stride + i. The
/// stride is the count, rounded up to kCentreLanes; what is behind the last one is 0.
inline constexpr int kCentreLanes = 16;
std::size_t centre_floats(const FloatSet& train);
void centre_lanes(const FloatSet& train, float* out);

/// out[i] := squared_distance() where centre_product() is above `least`, which is 0 or more, else
/// infinity. `centres` is of centre_lanes().
void squared_row_near(const float* query, const FloatSet& train, const float* centres, float least,
                      float* out);

}  // namespace cuface::match
