// Words of bit maps in device memory.
#pragma once

#include <cstdint>

#include "kernels/common/bits.h"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/image.h"

namespace cuface::cuda::motion {

// Blocks of kernels whose threads have a quad of pixels or a word each.
inline constexpr int kBlockX = 64, kBlockY = 4;
inline constexpr int kQuad = 4;

inline unsigned parts(int n, int of) { return static_cast<unsigned>((n + of - 1) / of); }

struct Place {
  int x, y;
};
__device__ inline Place place() {
  return {static_cast<int>(blockIdx.x * kBlockX + threadIdx.x),
          static_cast<int>(blockIdx.y * kBlockY + threadIdx.y)};
}

/// A word with the pixels set that have one within `reach` of them in the row. word_at(i) is the
/// row's word.
template <typename WordAt>
__device__ std::uint64_t widened(const WordAt& word_at, int words, int i, int reach) {
  std::uint64_t out = word_at(i);
  // By more than reached + 1 pixels it would have to pass through other words.
  for (int reached = 0; reached < reach && reached < kWordBits - 1;) {
    const int by = min(min(reached + 1, reach - reached), kWordBits - 1);
    out |= out << by | out >> by;
    reached += by;
  }
  // The nearest pixel to either side reaches at least as far as those behind it.
  for (int j = i - 1; j >= 0 && (i - j - 1) * kWordBits < reach; --j) {
    const std::uint64_t word = word_at(j);
    if (word == 0) continue;
    const int last = (j + 1) * kWordBits - 1 - __clzll(static_cast<long long>(word));
    out |= bits_between(i, i * kWordBits, last + reach + 1);
    break;
  }
  for (int j = i + 1; j < words && (j - i - 1) * kWordBits < reach; ++j) {
    const std::uint64_t word = word_at(j);
    if (word == 0) continue;
    const int first = j * kWordBits + __ffsll(static_cast<long long>(word)) - 1;
    out |= bits_between(i, first - reach, (i + 1) * kWordBits);
    break;
  }
  return out;
}

/// A row's word and those at most `reach` rows above and below, together. word_in(v) is row v's.
template <typename WordIn>
__device__ std::uint64_t column(const WordIn& word_in, int height, int y, int reach) {
  std::uint64_t out = 0;
  const int last = min(y + reach, height - 1);
#pragma unroll 8
  for (int v = max(y - reach, 0); v <= last; ++v) out |= word_in(v);
  return out;
}

/// Numbers of a few bits, one for each pixel of a word.
template <int kBits>
struct Counts {
  std::uint64_t bits[kBits] = {};

  /// Adds one to those of `more`.
  __device__ void add(std::uint64_t more, int first = 0) {
#pragma unroll
    for (int b = 0; b < kBits; ++b) {
      if (b < first) continue;
      const std::uint64_t carry = bits[b] & more;
      bits[b] ^= more;
      more = carry;
    }
  }
  __device__ std::uint64_t at_least(unsigned number) const {
    std::uint64_t out = ~std::uint64_t{0};
#pragma unroll
    for (int b = 0; b < kBits; ++b) out = number >> b & 1 ? out & bits[b] : out | bits[b];
    return out;
  }
};

/// A quad's bits, lowest first, as a part of a word. All lanes of a warp call it.
__device__ inline void store_quad(std::uint32_t bits, const Place& quad,
                                  ImageView<std::uint64_t> out) {
  constexpr int kHalf = 32, kQuads = kHalf / kQuad;
  std::uint32_t all = bits << (quad.x % kQuads * kQuad);
  for (int by = 1; by < kQuads; by *= 2) all |= __shfl_xor_sync(kAllLanes, all, by);
  const int half = quad.x / kQuads;
  if (quad.x % kQuads == 0 && quad.y < out.height && half < 2 * out.width)
    reinterpret_cast<std::uint32_t*>(out.row(quad.y))[half] = all;
}

}  // namespace cuface::cuda::motion
