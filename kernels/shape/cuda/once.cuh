// Words that one thread writes once while others wait for them. A word itself tells whether it is
// there, so no counter does, and no fence orders anything: before, it is a signalling NaN, which no
// arithmetic gives.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace cuface::cuda {

#ifdef __CUDACC__
namespace once {

enum : std::uint64_t { kNotThere = 0x7ff4'0000'0000'0001, kSkipped };

template <typename T>
constexpr int kWords = sizeof(T) / sizeof(double);

/// Cycles, of some seconds: whoever waits longer waits in vain.
constexpr long long kPatience = 1LL << 32;

__device__ inline std::uint64_t bits(double word) { return std::bit_cast<std::uint64_t>(word); }

__device__ inline long long now() {
#ifdef __NVCC__
  return clock64();
#else  // tests/gpu/emulator, where all there will be is there
  static long long time = 0;
  return time += kPatience;
#endif
}

/// Volatile words are written and read whole, past the caches of multiprocessors.
template <typename T>
__device__ void write(const double (&words)[kWords<T>], T& to) {
  for (int i = 0; i < kWords<T>; ++i) (reinterpret_cast<volatile double*>(&to))[i] = words[i];
}
template <typename T>
__device__ void fill(std::uint64_t with, T& to) {
  double words[kWords<T>];
  for (double& word : words) word = std::bit_cast<double>(with);
  write(words, to);
}

}  // namespace once

/// Before others may wait for it. Kernels that do are launched behind that.
template <typename T>
__device__ void unset(T& to) {
  once::fill(once::kNotThere, to);
}
template <typename T>
__device__ void put(const T& value, T& to) {
  double words[once::kWords<T>];
  std::memcpy(words, &value, sizeof value);
  once::write(words, to);
}
/// There will be no value.
template <typename T>
__device__ void skip(T& to) {
  once::fill(once::kSkipped, to);
}

/// The value, when it is there. Only of blocks that have begun, or end before.
template <typename T>
__device__ T when_there(const T& from) {
  const auto* const at = reinterpret_cast<const volatile double*>(&from);
  double words[once::kWords<T>];
  const long long begin = once::now();
  for (;;) {
    bool is_there = true;
    for (int i = 0; i < once::kWords<T>; ++i) words[i] = at[i];
    for (const double word : words) is_there &= once::bits(word) != once::kNotThere;
    if (is_there) break;
    if (once::now() - begin > once::kPatience) __trap();
  }
  T value;
  std::memcpy(&value, words, sizeof value);
  return value;
}
__device__ inline bool is_skipped(double word) { return once::bits(word) == once::kSkipped; }
#endif

}  // namespace cuface::cuda
