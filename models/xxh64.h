// XXH64, Yann Collet's 64-bit hash: fast enough to check a model file whenever it is loaded.
// Against accidents, not against attackers: those are met by checking every value that is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cuface {

/// The hash of bytes that come in pieces of any size, as while a file is read. One thread at a
/// time.
class Xxh64 {
 public:
  explicit Xxh64(std::uint64_t seed = 0);
  void add(std::span<const std::uint8_t> piece);
  /// Of all that was added.
  std::uint64_t value() const;

 private:
  static constexpr std::size_t kStripe = 32;

  std::uint64_t seed_;
  std::uint64_t lanes_[4];
  std::uint64_t size_ = 0;
  std::uint8_t rest_[kStripe];  ///< the last size_ % kStripe bytes
};

inline std::uint64_t xxh64(std::span<const std::uint8_t> bytes, std::uint64_t seed = 0) {
  Xxh64 hash(seed);
  hash.add(bytes);
  return hash.value();
}

}  // namespace cuface
