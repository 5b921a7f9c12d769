// Where a patch fits, by one block: the bits of IntegerPatch::match().
//
// All places take all rows of the matrix: what the CPU leaves out changes no result. The products
// are made by tensor cores, of 16 rows with 8 places at once. They multiply bytes, so a number of
// 16 bits is an upper and a lower one, and a product the sum of four.
#pragma once

#ifdef __CUDACC__
#include <cuda_pipeline.h>
#endif

#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/lanes.h"
#include "kernels/texture/integer_patch.h"
#include "kernels/texture/texture.h"

namespace cuface::cuda {

/// How numbers of a patch are taken by tensor cores: four neighbours of a row of the patch are a
/// word, and a step takes eight words. Rows are filled up to words, and patches to steps.
struct PatchSteps {
  static constexpr int kWords = 8, kNumbers = 4;
  int side;

  CUFACE_HD int words_across() const { return (side + kNumbers - 1) / kNumbers; }
  CUFACE_HD int count() const { return (words_across() * side + kWords - 1) / kWords; }
  /// Where a word is in a patch; below the last row for words that fill a step up.
  CUFACE_HD int x(int word) const { return word % words_across() * kNumbers; }
  CUFACE_HD int y(int word) const { return word / words_across(); }
};

/// A lane's words of the matrix for one step: rows g and g + 8, numbers of words t and t + 4, for
/// lane 4 g + t. Upper bytes and lower ones.
struct alignas(16) PatchWords {
  std::uint32_t words[4];
};
enum PatchByte { kUpper, kLower, kPatchBytes };

/// The bytes of which 256 times the upper one and the lower one are n; both have signs.
CUFACE_HD inline int upper_byte(int n) { return (n + 128) >> 8; }
CUFACE_HD inline int lower_byte(int n) { return n - 256 * upper_byte(n); }

/// A patch's model in device memory.
struct DevicePatch {
  const PatchWords* words;          ///< [blocks][steps][kPatchBytes][kWarp], perhaps shared memory
  const texture::PatchUnits* rows;  ///< [blocks]
  int blocks;
  float edge;
  CUFACE_HD static int words_of_block(const PatchSteps& steps) {
    return steps.count() * kPatchBytes * kWarp;
  }
};

/// What a block shares while it looks for a patch.
struct PatchMemory {
  static constexpr int kPlaces = 32;  ///< that are multiplied together
  static constexpr int kCorners = 4;
  int area, places, most_blocks;  ///< numbers of a side; all places
  PatchSteps steps;

  CUFACE_HD PatchMemory(const PatchRule& rule, int blocks)
      : area(rule.side + 2 * rule.reach),
        places(rule.across() * rule.across()),
        most_blocks(blocks),
        steps{rule.side} {}
  CUFACE_HD int pixel_count() const { return (area + 1) * (area + 1); }
  /// The last place's last word reaches so far.
  CUFACE_HD int word_count() const {
    const int last = steps.count() * PatchSteps::kWords - 1;
    return area * area + (steps.y(last) - steps.side + 1) * area + steps.words_across() * 4;
  }
  CUFACE_HD std::size_t bytes() const {
    return sizeof(float) *
           static_cast<std::size_t>(pixel_count() + area * area + 2 * word_count() +
                                    (2 + kCorners) * places + most_blocks * kPlaces + 4);
  }

#ifdef __CUDACC__
  __device__ float* pixels(void* memory) const { return static_cast<float*>(memory); }
  __device__ std::int32_t* gradients(void* memory) const {
    return reinterpret_cast<std::int32_t*>(pixels(memory) + pixel_count());
  }
  /// Of bytes of four neighbours, upper and lower ones.
  __device__ std::uint32_t* words(void* memory) const {
    return reinterpret_cast<std::uint32_t*>(gradients(memory) + area * area);
  }
  __device__ float* edges(void* memory) const {
    return reinterpret_cast<float*>(words(memory) + 2 * word_count());
  }
  __device__ float* weights(void* memory) const { return edges(memory) + kCorners * places; }
  __device__ float* costs(void* memory) const { return weights(memory) + places; }
  __device__ float* squares(void* memory) const { return costs(memory) + places; }
  /// Of the best place: its cost, and its index.
  __device__ float* best(void* memory) const { return squares(memory) + most_blocks * kPlaces; }
#endif
};

#ifdef __CUDACC__
namespace patch {

/// For a whole warp: adds to 16 x 8 sums the products of rows with places over 32 bytes of each.
/// Lane 4 g + t has words t and t + 4 of rows g and g + 8, and of place g; and the sums of rows g
/// (two) and g + 8, of places 2 t and 2 t + 1.
__device__ inline void multiply(int (&sums)[4], const PatchWords& a, std::uint32_t b0,
                                std::uint32_t b1) {
#ifdef __NVCC__
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b0), "r"(b1));
#else  // tests/gpu/emulator
  const int lane = static_cast<int>(threadIdx.x) % kWarp, g = lane / 4, t = lane % 4;
  for (int from = 0; from < 4; ++from) {
    std::uint32_t rows[4], places[2][2];
    for (int i = 0; i < 4; ++i) rows[i] = __shfl_sync(kAllLanes, a.words[i], 4 * g + from);
    for (int i = 0; i < 2; ++i) {
      places[i][0] = __shfl_sync(kAllLanes, b0, 4 * (2 * t + i) + from);
      places[i][1] = __shfl_sync(kAllLanes, b1, 4 * (2 * t + i) + from);
    }
    for (int i = 0; i < 16; ++i) {
      const int row = i / 8, place = i / 4 % 2, byte = 8 * (i % 4);
      for (int half = 0; half < 2; ++half)
        sums[2 * row + place] += static_cast<std::int8_t>(rows[2 * half + row] >> byte) *
                                 static_cast<std::int8_t>(places[place][half] >> byte);
    }
  }
#endif
}

/// One search, by all threads of a block. kSide, kReach: as the rule has them, with steps of 1; or
/// 0 for any.
template <int kThreads, int kSide, int kReach>
struct PatchSearch {
  static constexpr int kTilePlaces = 8;
  static constexpr int kTiles = 2;  // that a warp multiplies together
  static constexpr int kParts = PatchMemory::kPlaces / (kTiles * kTilePlaces);
  const PatchRule& rule;
  const DevicePatch& model;
  const PatchMemory layout;
  void* const memory;

  __device__ int across() const { return kSide > 0 ? 2 * kReach + 1 : rule.across(); }
  __device__ int area() const { return kSide > 0 ? kSide + 2 * kReach : layout.area; }
  __device__ int step() const { return kSide > 0 ? 1 : rule.step; }
  __device__ int reach() const { return kSide > 0 ? kReach : rule.reach; }
  __device__ int places() const { return across() * across(); }

  /// For a whole warp: of a block of rows, the sums of squares of places from `first` on, which go
  /// to `to`.
  __device__ void multiply_block(int block, int first, float* to) const {
    const PatchSteps steps{kSide > 0 ? kSide : rule.side};
    const int lane = static_cast<int>(threadIdx.x) % kWarp, g = lane / 4, t = lane % 4;
    const std::uint32_t* const upper = layout.words(memory);
    const std::uint32_t* const lower = upper + layout.word_count();
    int corners[kTiles];
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      const int place = min(first + kTilePlaces * i + g, places() - 1);
      corners[i] = (place / across() * area() + place % across()) * step();
    }
    int high[kTiles][4] = {}, middle[kTiles][4] = {}, low[kTiles][4] = {};
    const PatchWords* words = model.words + block * DevicePatch::words_of_block(steps) + lane;
#pragma unroll
    for (int step = 0; step < steps.count(); ++step, words += kPatchBytes * kWarp) {
      const PatchWords up = words[kUpper * kWarp], down = words[kLower * kWarp];
      const int word = step * PatchSteps::kWords + t;
      const int at = steps.y(word) * area() + steps.x(word);
      const int next = steps.y(word + 4) * area() + steps.x(word + 4);
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
        const std::uint32_t u0 = upper[corners[i] + at], u1 = upper[corners[i] + next];
        const std::uint32_t l0 = lower[corners[i] + at], l1 = lower[corners[i] + next];
        multiply(high[i], up, u0, u1);
        multiply(middle[i], up, l0, l1);
        multiply(low[i], down, l0, l1);
        multiply(middle[i], down, u0, u1);
      }
    }
    const texture::PatchUnits& rows = model.rows[block];
    const int offsets[2] = {rows.offsets[g], rows.offsets[g + 8]};
    const float scales[2] = {rows.scales[g], rows.scales[g + 8]};
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const auto square = [&](int half) {
          const int j = 2 * half + side;
          // The four products' sum, of which no bits are lost; unsigned, as parts may overflow.
          const unsigned sum = (static_cast<unsigned>(high[i][j]) << 16) +
                               (static_cast<unsigned>(middle[i][j]) << 8) +
                               static_cast<unsigned>(low[i][j]);
          const float product =
              static_cast<float>(static_cast<int>(sum - static_cast<unsigned>(offsets[half]))) *
              scales[half];
          return product * product;
        };
        float sum = square(0) + square(1);
#pragma unroll
        for (int apart = 16; apart >= 4; apart /= 2) sum += __shfl_xor_sync(kAllLanes, sum, apart);
        if (g == 0) to[kTilePlaces * i + 2 * t + side] = sum;
      }
    }
  }

  /// Of these places that of the least cost, the first of equal ones.
  __device__ void find_best() const {
    if (threadIdx.x < kWarp) {
      const float* const costs = layout.costs(memory);
      int index = 0;
      float least = costs[0];
      const auto take = [&](float other, int place) {
        if (other < least || (other == least && place < index)) least = other, index = place;
      };
      for (int i = static_cast<int>(threadIdx.x); i < places(); i += kWarp) take(costs[i], i);
#pragma unroll
      for (int apart = kWarp / 2; apart > 0; apart /= 2) {
        const float other = __shfl_xor_sync(kAllLanes, least, apart);
        take(other, __shfl_xor_sync(kAllLanes, index, apart));
      }
      if (threadIdx.x == 0) {
        layout.best(memory)[0] = least;
        reinterpret_cast<std::int32_t*>(layout.best(memory))[1] = index;
      }
    }
    __syncthreads();
  }

  /// Pixels' gradients and edges; then what lies between pixels; then bytes of neighbours.
  __device__ void prepare(const texture::PatchPixels& pixels, const texture::BetweenPixels& at,
                          float strongest) const {
    const int side = kSide > 0 ? kSide : rule.side;
    const int rim = side / 2 + reach(), across = area() + 1, numbers = area() * area();
    const int count = across * across;
    const auto thread = static_cast<int>(threadIdx.x);
    float *const between = layout.pixels(memory), *const edges = layout.edges(memory);
    const bool weighs = model.edge > 0;
    constexpr int kCorners = PatchMemory::kCorners;
    for (int i = thread; i < count + (weighs ? kCorners * places() : 0); i += kThreads) {
      if (i < count) {
        between[i] = texture::pixel_gradient(pixels, rule.gradient == PatchRule::kForward,
                                             at.x - rim + i % across, at.y - rim + i / across);
      } else {
        const int place = (i - count) / kCorners, corner = (i - count) % kCorners;
        edges[i - count] = texture::edge_intensity(
            pixels, at.x + place % this->across() * step() - reach() + corner % 2,
            at.y + place / this->across() * step() - reach() + corner / 2);
      }
    }
    __syncthreads();
    const auto q = static_cast<float>(rule.q);
    std::int32_t* const gradients = layout.gradients(memory);
    for (int i = thread; i < numbers + places(); i += kThreads) {
      if (i < numbers) {
        const float* const above = between + i / area() * across + i % area();
        gradients[i] = texture::counted_gradient(
            at.mix(above[0], above[1], above[across], above[across + 1]), q);
      } else {
        const float* const e = edges + (i - numbers) * kCorners;
        layout.weights(memory)[i - numbers] =
            weighs ? texture::edge_weight(model.edge, at.mix(e[0], e[1], e[2], e[3]), strongest)
                   : 1;
      }
    }
    __syncthreads();
    std::uint32_t* const words = layout.words(memory);
    for (int i = thread; i < layout.word_count(); i += kThreads) {
      unsigned upper = 0, lower = 0;
      for (int k = 0; k < PatchSteps::kNumbers; ++k) {
        const int n = i + k < numbers ? gradients[i + k] : 0;
        upper |= static_cast<unsigned>(upper_byte(n) & 255) << 8 * k;
        lower |= static_cast<unsigned>(lower_byte(n) & 255) << 8 * k;
      }
      words[i] = upper;
      words[layout.word_count() + i] = lower;
    }
    __pipeline_wait_prior(0);  // for the matrix
    __syncthreads();
  }

  __device__ TextureMatch run() const {
    const auto warp = static_cast<int>(threadIdx.x) / kWarp;
    for (int first = 0; first < places(); first += PatchMemory::kPlaces) {
      for (int task = warp; task < model.blocks * kParts; task += kThreads / kWarp) {
        const int block = task / kParts, from = task % kParts * kTiles * kTilePlaces;
        multiply_block(block, first + from,
                       layout.squares(memory) + block * PatchMemory::kPlaces + from);
      }
      __syncthreads();
      const int place = first + static_cast<int>(threadIdx.x);
      if (static_cast<int>(threadIdx.x) < min(PatchMemory::kPlaces, places() - first)) {
        const float* const squares = layout.squares(memory) + threadIdx.x;
        float cost = 0;
        for (int block = 0; block < model.blocks; ++block)
          cost += squares[block * PatchMemory::kPlaces];
        layout.costs(memory)[place] = layout.weights(memory)[place] * cost;
      }
      __syncthreads();
    }
    find_best();
    const int place = reinterpret_cast<const std::int32_t*>(layout.best(memory))[1];
    return {place % across() * step() - reach(), place / across() * step() - reach(),
            static_cast<double>(layout.best(memory)[0])};
  }
};

}  // namespace patch

/// The offset of the least cost around a point, for all threads of a block. `memory`: shared, of
/// PatchMemory::bytes(); others may use it again behind a barrier. The model's words may still be
/// on their way there. `strongest_square`: of the picture's edges.
template <int kThreads>
__device__ TextureMatch match_patch(const texture::PatchPixels& pixels, const ShapePoint& point,
                                    const PatchRule& rule, const DevicePatch& model,
                                    int most_blocks, int strongest_square, void* memory) {
  const auto at = texture::BetweenPixels::of(point.x, point.y, rule.is_bilinear);
  const float strongest = model.edge > 0 ? std::sqrt(static_cast<float>(strongest_square)) : 0.0f;
  const auto run = [&](const auto& search) {
    search.prepare(pixels, at, strongest);
    return search.run();
  };
  constexpr int kMasmSide = 13, kMasmReach = 2;
  const PatchMemory layout(rule, most_blocks);
  if (rule.side == kMasmSide && rule.reach == kMasmReach && rule.step == 1)
    return run(patch::PatchSearch<kThreads, kMasmSide, kMasmReach>{rule, model, layout, memory});
  return run(patch::PatchSearch<kThreads, 0, 0>{rule, model, layout, memory});
}
#endif

}  // namespace cuface::cuda
