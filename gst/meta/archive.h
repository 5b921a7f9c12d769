// Turns a result into bytes and back (wire.cc has the layouts). A layout is one function, which
// takes a Writer or a Reader.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "gst/meta/wire.h"

namespace cuface::gst::wire {

/// The integer of a value's size that has its bits.
template <typename T>
auto bits_of(T value) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<std::uint32_t>(value);
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<std::uint64_t>(value);
  else
    return static_cast<std::make_unsigned_t<T>>(value);
}

class Writer {
 public:
  template <typename T>
  requires std::is_arithmetic_v<T>
  void value(const T& v) {
    if constexpr (std::is_same_v<T, bool>) {
      bytes.push_back(v ? 1 : 0);
    } else {
      const auto bits = bits_of(v);
      for (std::size_t i = 0; i < sizeof bits; ++i)
        bytes.push_back(static_cast<std::uint8_t>(std::uint64_t{bits} >> 8 * i));
    }
  }
  void check(bool) {}
  template <typename T>
  void resize(const std::vector<T>& all, std::size_t) {
    value(static_cast<std::uint32_t>(all.size()));
  }

  std::vector<std::uint8_t> bytes;
};

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

  template <typename T>
  requires std::is_arithmetic_v<T>
  void value(T& v) {
    if constexpr (std::is_same_v<T, bool>) {
      std::uint8_t byte = 0;
      value(byte);
      check(byte <= 1);
      v = byte == 1;
    } else {
      decltype(bits_of(v)) bits = 0;
      check(rest_.size() >= sizeof bits);
      if (!fine_) return;
      for (std::size_t i = 0; i < sizeof bits; ++i)
        bits |= static_cast<decltype(bits)>(std::uint64_t{rest_[i]} << 8 * i);
      rest_ = rest_.subspan(sizeof bits);
      if constexpr (std::is_floating_point_v<T>) {
        v = std::bit_cast<T>(bits);
        check(std::abs(v) <= T{kMostWireNumber});  // not so NaN
      } else {
        v = static_cast<T>(bits);
      }
    }
  }
  void check(bool holds) { fine_ = fine_ && holds; }
  /// Each element takes that many bytes at least.
  template <typename T>
  void resize(std::vector<T>& all, std::size_t bytes_each) {
    std::uint32_t count = 0;
    value(count);
    check(std::uint64_t{count} * bytes_each <= rest_.size());
    if (fine_) all.resize(count);
  }
  /// As many as both sides know of.
  template <typename T>
  void fill(std::vector<T>& all, std::size_t count) {
    check(count * sizeof(T) <= rest_.size());
    if (fine_) all.resize(count);
  }
  bool is_fine() const { return fine_; }
  bool is_over() const { return fine_ && rest_.empty(); }

 private:
  std::span<const std::uint8_t> rest_;
  bool fine_ = true;
};

}  // namespace cuface::gst::wire
