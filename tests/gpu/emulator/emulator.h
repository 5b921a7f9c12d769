// CUDA kernels on the CPU, for tests of their logic where there is no GPU: what they compute, not
// how fast, and not what only real threads at once can do wrong.
//
// Included before all else into copies of .cu files (emulate.py). A block's threads take turns on
// one thread of the host, in a random order, each until it waits for others or does something
// atomic: so a missing barrier shows. Blocks come one after the other. Of CUDA's functions those
// are here that the emulated kernels use.
#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <utility>

namespace emulator {

struct Index {
  unsigned x, y, z;
};
extern Index thread_index, block_index, block_size, grid_size;

/// Waits for the block; whether any (else: all) of its threads say so.
bool block_vote(bool said, bool any);
/// Waits for the warp; what lane `from(lane)` gave.
std::uint32_t warp_read(std::uint32_t value, int from);
/// Waits for the warp; a bit for each lane that says so.
std::uint32_t warp_ballot(bool said);
int lane();
/// Perhaps another thread's turn.
void pause();
[[noreturn]] void trap();

std::byte* shared_bytes();
template <typename T>
T* dynamic_shared() {
  return reinterpret_cast<T*>(shared_bytes());
}

/// How to call a kernel by pointers to its arguments.
void learn(const void* kernel, std::function<void(void**)> call);
template <typename... Params>
const void* known(void (*kernel)(Params...)) {
  const auto* address = reinterpret_cast<const void*>(kernel);
  learn(address, [kernel](void** arguments) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      kernel(*static_cast<Params*>(arguments[I])...);
    }
    (std::index_sequence_for<Params...>());
  });
  return address;
}

/// Nobody else's turn comes between.
template <typename T, typename Change>
T atomically(T* at, const Change& change) {
  pause();
  const T before = *at;
  *at = change(before);
  return before;
}

}  // namespace emulator

#define __CUDACC__ 1
#define __CUDA_ARCH__ 900
#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __launch_bounds__
#undef __grid_constant__
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__
#define threadIdx emulator::thread_index
#define blockIdx emulator::block_index
#define blockDim emulator::block_size
#define gridDim emulator::grid_size

template <typename A, typename B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  return b < a ? b : a;
}
template <typename A, typename B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  return a < b ? b : a;
}

inline void __syncthreads() { emulator::block_vote(false, true); }
inline int __syncthreads_or(int said) { return emulator::block_vote(said != 0, true); }
inline int __syncthreads_and(int said) { return emulator::block_vote(said != 0, false); }
inline void cudaGridDependencySynchronize() {}
inline void cudaTriggerProgrammaticLaunchCompletion() {}
inline void __syncwarp() { emulator::warp_ballot(false); }
inline void __threadfence() { emulator::pause(); }
inline void __threadfence_system() {}
inline void __trap() { emulator::trap(); }

// In place of <cuda_pipeline.h>. Copies are there at once: that nobody waits for them does not
// show.
#define _CUDA_PIPELINE_H_
inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(int) {}

inline unsigned __ballot_sync(unsigned, int said) { return emulator::warp_ballot(said != 0); }
inline int __any_sync(unsigned, int said) { return emulator::warp_ballot(said != 0) != 0; }
template <typename T>
T __shfl_sync(unsigned, T value, int from) {
  static_assert(sizeof(T) == sizeof(std::uint32_t) || sizeof(T) == sizeof(std::uint64_t));
  if constexpr (sizeof(T) == sizeof(std::uint32_t)) {
    return std::bit_cast<T>(emulator::warp_read(std::bit_cast<std::uint32_t>(value), from & 31));
  } else {
    const auto whole = std::bit_cast<std::uint64_t>(value);
    const auto half = [&](int bits) -> std::uint64_t {
      return emulator::warp_read(static_cast<std::uint32_t>(whole >> bits), from & 31);
    };
    const std::uint64_t low = half(0);
    return std::bit_cast<T>(half(32) << 32 | low);
  }
}
template <typename T>
T __shfl_xor_sync(unsigned lanes, T value, int by) {
  return __shfl_sync(lanes, value, emulator::lane() ^ by);
}
template <typename T>
T __shfl_up_sync(unsigned lanes, T value, unsigned by) {
  const int from = emulator::lane() - static_cast<int>(by);
  return __shfl_sync(lanes, value, from >= 0 ? from : emulator::lane());
}
template <typename T>
T __shfl_down_sync(unsigned lanes, T value, int by) {
  const int from = emulator::lane() + by;
  return __shfl_sync(lanes, value, from < 32 ? from : emulator::lane());
}

inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return x ? std::countr_zero(static_cast<unsigned>(x)) + 1 : 0; }
inline int __ffsll(long long x) {
  return x ? std::countr_zero(static_cast<unsigned long long>(x)) + 1 : 0;
}
inline unsigned long long __brevll(unsigned long long x) {
  unsigned long long out = 0;
  for (int i = 0; i < 64; ++i) out |= (x >> i & 1) << (63 - i);
  return out;
}
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __float2int_rn(float x) { return static_cast<int>(__builtin_lrintf(x)); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const std::uint64_t bytes = low | static_cast<std::uint64_t>(high) << 32;
  unsigned out = 0;
  for (int i = 0; i < 4; ++i)
    out |= static_cast<unsigned>(bytes >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  return out;
}
/// Two halves of the first by the two lower bytes of the second.
inline unsigned __dp2a_lo(unsigned halves, unsigned bytes, unsigned sum) {
  return sum + (halves & 0xffff) * (bytes & 0xff) + (halves >> 16) * (bytes >> 8 & 0xff);
}
/// Products of four bytes, added up.
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  for (int i = 0; i < 32; i += 8) sum += (a >> i & 255) * (b >> i & 255);
  return sum;
}
/// 32 bits of both from bit `by` on: of which only five bits count, or at most 32.
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) >> (by & 31));
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(high) << 32 | low) >> min(by, 32u));
}
/// Over a warp.
template <typename T>
T __reduce_add_sync(unsigned lanes, T value) {
  for (int by = 16; by > 0; by /= 2)
    value = static_cast<T>(static_cast<unsigned>(value) +
                           static_cast<unsigned>(__shfl_xor_sync(lanes, value, by)));
  return value;
}
inline unsigned __reduce_or_sync(unsigned lanes, unsigned value) {
  for (int by = 16; by > 0; by /= 2) value |= __shfl_xor_sync(lanes, value, by);
  return value;
}
inline int __reduce_max_sync(unsigned lanes, int value) {
  for (int by = 16; by > 0; by /= 2) value = max(value, __shfl_xor_sync(lanes, value, by));
  return value;
}
/// The sum of the differences of four bytes.
inline unsigned __vsadu4(unsigned a, unsigned b) {
  unsigned sum = 0;
  for (int i = 0; i < 32; i += 8) {
    const unsigned x = a >> i & 255, y = b >> i & 255;
    sum += x < y ? y - x : x - y;
  }
  return sum;
}
template <typename T>
T __ldg(const T* from) {
  return *from;
}
template <typename T>
T __ldcg(const T* from) {
  return *from;
}

template <typename T>
T atomicAdd(T* at, std::type_identity_t<T> more) {
  return emulator::atomically(at, [=](T before) { return static_cast<T>(before + more); });
}
template <typename T>
T atomicMin(T* at, std::type_identity_t<T> other) {
  return emulator::atomically(at, [=](T before) { return before < other ? before : other; });
}
template <typename T>
T atomicMax(T* at, std::type_identity_t<T> other) {
  return emulator::atomically(at, [=](T before) { return before < other ? other : before; });
}
template <typename T>
T atomicOr(T* at, std::type_identity_t<T> bits) {
  return emulator::atomically(at, [=](T before) { return before | bits; });
}
template <typename T>
T atomicAnd(T* at, std::type_identity_t<T> bits) {
  return emulator::atomically(at, [=](T before) { return before & bits; });
}
