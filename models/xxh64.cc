#include "models/xxh64.h"

#include <algorithm>
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

/// In registers from the first stripe to the last.
void add_stripes(std::uint64_t (&lanes)[4], const std::uint8_t* p, std::size_t count) {
  auto [a, b, c, d] = lanes;
  for (; count > 0; --count, p += 32) {
    a = round(a, word_at<std::uint64_t>(p));
    b = round(b, word_at<std::uint64_t>(p + 8));
    c = round(c, word_at<std::uint64_t>(p + 16));
    d = round(d, word_at<std::uint64_t>(p + 24));
  }
  lanes[0] = a, lanes[1] = b, lanes[2] = c, lanes[3] = d;
}

}  // namespace

Xxh64::Xxh64(std::uint64_t seed)
    : seed_(seed), lanes_{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1} {}

void Xxh64::add(std::span<const std::uint8_t> piece) {
  const std::size_t waiting = size_ % kStripe;
  size_ += piece.size();
  if (waiting > 0) {
    const std::size_t taken = std::min(piece.size(), kStripe - waiting);
    std::copy_n(piece.data(), taken, rest_ + waiting);
    piece = piece.subspan(taken);
    if (waiting + taken < kStripe) return;
    add_stripes(lanes_, rest_, 1);
  }
  const std::size_t whole = piece.size() / kStripe;
  add_stripes(lanes_, piece.data(), whole);
  piece = piece.subspan(whole * kStripe);
  std::copy_n(piece.data(), piece.size(), rest_);
}

std::uint64_t Xxh64::value() const {
  std::uint64_t hash = seed_ + kPrime5;
  if (size_ >= kStripe) {
    const auto [a, b, c, d] = lanes_;
    hash = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
    hash = merge(merge(merge(merge(hash, a), b), c), d);
  }
  hash += size_;
  const std::uint8_t* p = rest_;
  std::size_t left = size_ % kStripe;
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
