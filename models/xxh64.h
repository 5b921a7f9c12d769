// XXH64, Yann Collet's 64-bit hash: fast enough to check a model file whenever it is loaded.
// Against accidents, not against attackers: those are met by checking every value that is used.
#pragma once

#include <cstdint>
#include <span>

namespace cuface {

std::uint64_t xxh64(std::span<const std::uint8_t> bytes, std::uint64_t seed = 0);

}  // namespace cuface
