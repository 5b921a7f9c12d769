#include "models/xxh64.h"

#include <bit>
#include <cstring>

namespace cuface {
namespace {

static_assert(std::endian::native == std::endian::little, "words are read as they lie");

constexpr std::uint64_t kPrime1 = 0x9e3779b185ebca87u;
constexpr std::uint64_t kPrime2 = 0xc2b2ae3d27d4eb4fu;
constexpr std::uint64_t kPrime3 = 0x165667b19e3779f9u;
constexpr std::uint64_t kPrime4 = 0x85ebca77c2b2ae63u;
constexpr std::uint64_t kPrime5 = 0x27d4eb2f165667c5u;

template <typename Word>
std::uint64_t word_at(const std::uint8_t* p) {
  Word word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

std::uint64_t round(std::uint64_t accumulator, std::uint64_t input) {
  return std::rotl(accumulator + input * kPrime2, 31) * kPrime1;
}

std::uint64_t merge(std::uint64_t hash, std::uint64_t lane) {
  return (hash ^ round(0, lane)) * kPrime1 + kPrime4;
}

}  // namespace

std::uint64_t xxh64(std::span<const std::uint8_t> bytes, std::uint64_t seed) {
  const std::uint8_t* p = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t hash = seed + kPrime5;
  if (left >= 32) {
    std::uint64_t a = seed + kPrime1 + kPrime2, b = seed + kPrime2, c = seed, d = seed - kPrime1;
    for (; left >= 32; left -= 32, p += 32) {
      a = round(a, word_at<std::uint64_t>(p));
      b = round(b, word_at<std::uint64_t>(p + 8));
      c = round(c, word_at<std::uint64_t>(p + 16));
      d = round(d, word_at<std::uint64_t>(p + 24));
    }
    hash = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
    hash = merge(merge(merge(merge(hash, a), b), c), d);
  }
  hash += bytes.size();
  for (; left >= 8; left -= 8, p += 8) {
    hash = std::rotl(hash ^ round(0, word_at<std::uint64_t>(p)), 27) * kPrime1 + kPrime4;
  }
  for (; left >= 4; left -= 4, p += 4) {
    hash = std::rotl(hash ^ (word_at<std::uint32_t>(p) * kPrime1), 23) * kPrime2 + kPrime3;
  }
  for (; left > 0; --left, ++p) hash = std::rotl(hash ^ (*p * kPrime5), 11) * kPrime1;
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

}  // namespace cuface
