// Tests that a stage in steady state allocates nothing.
#pragma once

#include <atomic>

namespace cuface::test {

/// Allocations of the process so far, where allocations.cc is linked in.
extern std::atomic<long> allocations;
extern std::atomic<long> allocated_bytes;  ///< of all of them, freed or not

}  // namespace cuface::test
