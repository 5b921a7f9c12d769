// Random draws without a state: each is a function of a seed and a counter, so no order of work, no
// number of threads and no processor changes them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.h"

namespace cuface {

/// SplitMix64's mixing function: value `counter` of the stream `seed`, without any state.
CUFACE_HD inline std::uint64_t random_at(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t z = seed + (counter + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Value `counter` of the stream, in [0, n).
CUFACE_HD inline std::size_t random_index(std::uint64_t seed, std::uint64_t counter,
                                          std::size_t n) {
  return static_cast<std::size_t>(((random_at(seed, counter) >> 32) * n) >> 32);
}

}  // namespace cuface
