// The nearest of float descriptors, tile by tile.
#pragma once

#include "kernels/match/cuda/nearest.h"

namespace cuface::cuda::match {

/// Whether find_nearest_in_tiles() serves: early-out looks at one pair after the other.
inline bool in_tiles(const MatchConfig& config) { return config.early_out == 0; }

/// find_nearest(), for in_tiles().
Status find_nearest_in_tiles(const DeviceFloatSet& query, const DeviceFloatSet& train,
                             const MatchConfig& config, Nearest* of_queries, int parts,
                             Owner* owners, Launcher launch);

}  // namespace cuface::cuda::match
