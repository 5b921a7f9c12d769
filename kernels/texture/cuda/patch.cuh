// Where a patch fits, by one block, for a few faces at once that share its matrix: the bits of
// IntegerPatch::match().
//
// All places take all rows of the matrix: what the CPU leaves out changes no result. The products
// are made by tensor cores, of 16 rows with 8 places at once. They multiply bytes, so a number of
// 16 bits is an upper and a lower one, and a product the sum of four.
#pragma once

#include <cuda_pipeline.h>

#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/texture/cuda/patch_memory.h"
#include "kernels/texture/texture.h"

namespace cuface::cuda {
namespace patch {

/// For a whole warp: adds to 16 x 8 sums the products of rows with places over 32 bytes of each.
/// Lane 4 g + t has words t and t + 4 of rows g and g + 8, and of place g; and the sums of rows g
/// (two) and g + 8, of places 2 t and 2 t + 1. `is_half`: words t + 4 are 0.
__device__ inline void multiply(int (&sums)[4], const PatchWords& a, std::uint32_t b0,
                                std::uint32_t b1, [[maybe_unused]] bool is_half) {
#if defined(__NVCC__) && __CUDA_ARCH__ >= 800
  if (is_half)
    asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(a.words[0]), "r"(a.words[1]), "r"(b0));
  else
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b0), "r"(b1));
#else  // tests/gpu/emulator, and GPUs of before 2020
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

/// The searches of `count` faces, by all threads of a block. kSide, kReach, kPlanes: as the rule
/// has them, with steps of 1, and the model in shared memory; or 0 for any.
template <int kThreads, int kSide, int kReach, int kPlanes>
struct PatchSearch {
  static constexpr int kTilePlaces = 8;
  static constexpr int kTiles = 2;  // that a warp multiplies together
  static_assert(kSide == 0 || PatchSteps{kSide}.words_across() == 4);
  const PatchRule& rule;
  const DevicePatch& model;
  const PatchMemory layout;
  void* const memory;
  const int count;

  __device__ int side() const { return kSide > 0 ? kSide : rule.side; }
  __device__ int across() const { return kSide > 0 ? 2 * kReach + 1 : rule.across(); }
  __device__ int area() const { return kSide > 0 ? kSide + 2 * kReach : layout.area; }
  __device__ int step() const { return kSide > 0 ? 1 : rule.step; }
  __device__ int reach() const { return kSide > 0 ? kReach : rule.reach; }
  __device__ int planes() const { return kSide > 0 ? kPlanes : layout.planes; }
  __device__ int places() const { return across() * across(); }

  /// Numbers 0 .. of each face, f(face, number). Unrolled, loops of few turns would take registers
  /// that multiply_block() needs.
  template <typename F>
  __device__ void each(int of_face, F f) const {
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < count * of_face; i += kThreads)
      f(i / of_face, i % of_face);
  }

  /// For a whole warp: of a block of rows, the sums of squares of kOf tiles of places from `first`
  /// on, which go to squares() from `from` on; the places of all faces one after the other. What a
  /// likelihood's rows have goes to unlikelihoods().
  template <int kOf>
  __device__ void multiply_block(int block, int first, int from) const {
    const PatchSteps steps{side()};
    const unsigned lane = threadIdx.x % kWarp, g = lane / 4, t = lane % 4;
    const int at = block * DevicePatch::words_of_block(steps) + static_cast<int>(lane);
    // So the compiler knows that it is shared memory, whose instructions take constant offsets.
    const PatchWords* const staged = model.staged(memory);
    const PatchWords* const words = (kSide > 0 ? staged : model.words) + at;
    const texture::PatchUnits& rows =
        kSide > 0 ? DevicePatch::rows_behind(staged + model.blocks *
                                                          DevicePatch::words_of_block(steps))[block]
                  : model.rows[block];
    const int offsets[2] = {rows.offsets[g], rows.offsets[g + 8]};
    const float scales[2] = {rows.scales[g], rows.scales[g + 8]};
    const std::uint32_t* upper[kOf];
#pragma unroll
    for (int i = 0; i < kOf; ++i) {
      const int one = min(first + kTilePlaces * i + static_cast<int>(g), count * places() - 1);
      const int place = one % places();
      upper[i] = layout.words(memory, 0) + one / places() * layout.floats_first() +
                 (place / across() * area() + place % across()) * step();
      if (kSide > 0) upper[i] += PatchSteps::kNumbers * t;
    }
    // Where word 4 * half + t of a step is. A row of a patch whose side is known has four words, so
    // that all but the first is a constant.
    const auto of_row = [&](int y) {
      return y * area() + y % 2 * (planes() - 1) * kPatchBytes * layout.word_count();
    };
    const auto offset = [&](int step, int half) {
      if (kSide > 0) return of_row(2 * step + half);
      const int word = step * PatchSteps::kWords + 4 * half + static_cast<int>(t);
      return of_row(steps.y(word)) + steps.x(word);
    };
    int high[kOf][4] = {}, middle[kOf][4] = {}, low[kOf][4] = {};
#pragma unroll
    for (int step = 0; step < steps.count(); ++step) {
      const bool is_half = kSide > 0 && steps.is_half(step);
      const PatchWords up = words[(step * kPatchBytes + kUpper) * kWarp];
      const PatchWords down = words[(step * kPatchBytes + kLower) * kWarp];
      std::uint32_t u[kOf][2] = {}, l[kOf][2] = {};
#pragma unroll
      for (int i = 0; i < kOf; ++i) {
#pragma unroll
        for (int half = 0; half < (is_half ? 1 : 2); ++half) {
          u[i][half] = upper[i][offset(step, half)];
          l[i][half] = upper[i][offset(step, half) + layout.word_count()];
        }
      }
      // A sum waits for the one before: those of other sums stand between.
#pragma unroll
      for (int i = 0; i < kOf; ++i) multiply(middle[i], up, l[i][0], l[i][1], is_half);
#pragma unroll
      for (int i = 0; i < kOf; ++i) multiply(high[i], up, u[i][0], u[i][1], is_half);
#pragma unroll
      for (int i = 0; i < kOf; ++i) multiply(middle[i], down, u[i][0], u[i][1], is_half);
#pragma unroll
      for (int i = 0; i < kOf; ++i) multiply(low[i], down, l[i][0], l[i][1], is_half);
    }
    const bool has_likelihood = block == 0 && rule.likelihood > 0;
    const bool is_likelihood = has_likelihood && g < texture::kLikelihoodRows;
    float sums[kTiles][2] = {}, unlikelihoods[kOf][2];
#pragma unroll
    for (int i = 0; i < kOf; ++i) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const auto multiplied = [&](int half) {
          const int j = 2 * half + side;
          // The four products' sum, of which no bits are lost; unsigned, as parts may overflow.
          const unsigned sum = (static_cast<unsigned>(high[i][j]) << 16) +
                               (static_cast<unsigned>(middle[i][j]) << 8) +
                               static_cast<unsigned>(low[i][j]);
          return static_cast<float>(static_cast<int>(sum - static_cast<unsigned>(offsets[half]))) *
                 scales[half];
        };
        const float upper_row = multiplied(0), lower_row = multiplied(1);
        unlikelihoods[i][side] = upper_row;
        sums[i][side] = (is_likelihood ? 0 : upper_row * upper_row) + lower_row * lower_row;
      }
    }
    if (has_likelihood) {
      float* const to = layout.unlikelihoods(memory) + from;
#pragma unroll
      for (int i = 0; i < kOf; ++i) {
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          const float sum = unlikelihoods[i][side] +
                            __shfl_xor_sync(kAllLanes, unlikelihoods[i][side], kWarp / 8);
          if (g == 0) to[kTilePlaces * i + static_cast<int>(2 * t) + side] = sum;
        }
      }
    }
    // Halves of rows are added as sum_in_halves() does, and lanes take halves of the places.
    const auto halve = [](float a, float b, unsigned apart) {
      const bool takes_second = (threadIdx.x & apart) != 0;
      return (takes_second ? b : a) + __shfl_xor_sync(kAllLanes, takes_second ? a : b, apart);
    };
    static_assert(kTiles == 2);
    float sum = halve(halve(sums[0][0], sums[1][0], 16), halve(sums[0][1], sums[1][1], 16), 8);
    sum += __shfl_xor_sync(kAllLanes, sum, 4);
    float* const to = layout.squares(memory) + block * layout.faces * PatchMemory::kPlaces + from;
    if ((lane & 4) == 0) to[kTilePlaces * (lane >> 4) + 2 * t + (lane >> 3 & 1)] = sum;
  }

  /// Pixels; their gradients and edges; then what lies between pixels; then bytes of neighbours.
  __device__ void prepare() const {
    const int rim = side() / 2 + reach(), across = layout.pixels_across(), down = area() + 1;
    constexpr int kFour = PixelWords::kBytes;  // pixels of a thread
    const int words_across = across / kFour, numbers = area() * area();
    const PatchFace* const faces = layout.face(memory);
    each(words_across * layout.pixels_down(), [&](int face, int i) {
      const auto& [picture, at, strongest] = faces[face];
      const int x = at.x - rim - 1 + i % words_across * kFour,
                y = at.y - rim - 1 + i / words_across;
      std::uint32_t four = 0;
#pragma unroll
      for (int k = 0; k < kFour; ++k)
        four |= static_cast<std::uint32_t>(texture::PatchPixels{picture}.at(x + k, y)) << 8 * k;
      reinterpret_cast<std::uint32_t*>(layout.pixels(memory, face))[i] = four;
    });
    __syncthreads();
    const bool weighs = model.edge > 0;
    constexpr int kCorners = PatchMemory::kCorners;
    const int fours = words_across * down;
    each(fours + (weighs ? kCorners * places() : 0), [&](int face, int i) {
      if (i < fours) {
        const PixelWords near(reinterpret_cast<const std::uint32_t*>(layout.pixels(memory, face)) +
                                  (i / words_across + 1) * words_across,
                              words_across, i % words_across);
        float* to = layout.gradients(memory, face) + i * kFour;
        for (int plane = 0; plane < planes(); ++plane, to += layout.gradient_count()) {
#pragma unroll
          for (int k = 0; k < kFour; ++k)
            to[k] = texture::pixel_gradient<float>(near, rule.of_plane(plane), k, 0);
        }
      } else {
        const CopiedPixels near{layout.pixels(memory, face), across, rim + 1, rim + 1};
        const int place = (i - fours) / kCorners, corner = (i - fours) % kCorners;
        layout.edges(memory, face)[i - fours] =
            texture::edge_intensity(near, place % this->across() * step() - reach() + corner % 2,
                                    place / this->across() * step() - reach() + corner / 2);
      }
    });
    __syncthreads();
    const auto q = static_cast<float>(rule.q);
    const int bytes = layout.byte_count();
    each(planes() * bytes, [&](int face, int of_planes) {
      const int plane = of_planes / bytes, i = of_planes % bytes;
      int n = 0;
      if (i < numbers) {
        const float* const above = layout.gradients(memory, face) +
                                   plane * layout.gradient_count() + i / area() * across +
                                   i % area() + 1;
        n = texture::counted_gradient(
            faces[face].at.mix(above[0], above[1], above[across], above[across + 1]), q);
      }
      std::uint8_t* const counted = layout.counted(memory, face) + plane * kPatchBytes * bytes;
      counted[i] = static_cast<std::uint8_t>(upper_byte(n));
      counted[bytes + i] = static_cast<std::uint8_t>(lower_byte(n));
    });
    each(places(), [&](int face, int i) {
      const float* const e = layout.edges(memory, face) + i * kCorners;
      layout.weights(memory, face)[i] =
          weighs ? texture::edge_weight(model.edge, faces[face].at.mix(e[0], e[1], e[2], e[3]),
                                        faces[face].strongest)
                 : 1;
    });
    __syncthreads();
    each(layout.word_count(), [&](int face, int i) {
      const auto* const four =
          reinterpret_cast<const std::uint32_t*>(layout.counted(memory, face)) + i / 4;
      const auto word_at = [&](int plane, int byte) {
        const std::uint32_t* const from = four + (plane * kPatchBytes + byte) * (bytes / 4);
        return __funnelshift_r(from[0], from[1], static_cast<unsigned>(i % 4 * 8));
      };
      std::uint32_t* const words = layout.words(memory, face) + i;
      const int count = layout.word_count();
#pragma unroll
      for (int byte = 0; byte < kPatchBytes; ++byte) {
        const std::uint32_t first = word_at(0, byte);
        if (planes() == 1) {
          words[byte * count] = first;
          continue;
        }
        constexpr std::uint32_t kEven = 0x00ff00ff;
        const std::uint32_t second = word_at(1, byte);
        words[byte * count] = (first & kEven) | (second & ~kEven);
        words[(kPatchBytes + byte) * count] = (second & kEven) | (first & ~kEven);
      }
    });
    __pipeline_wait_prior(0);  // for the matrix
    __syncthreads();
  }

  /// found(face, match) for each face by one thread, of the place of the least cost, the first of
  /// equal ones.
  template <typename Found>
  __device__ void run(Found found) const {
    constexpr int kWarps = kThreads / kWarp;
    const auto thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
    const int all = count * places(), at_once = layout.faces * PatchMemory::kPlaces;
    int index = 0;
    float least = 0, told = 0;
    const auto is_better = [&](float other, int place) {
      return other < least || (other == least && place < index);
    };
    // Of several faces all places are multiplied together.
    for (int first = 0; first < all; first += at_once) {
      if (first > 0) __syncthreads();
      // Warps divide the places of all blocks of rows evenly. The last tile may be alone.
      constexpr int kPart = kTiles * kTilePlaces;
      const int tiles = (min(at_once, all - first) + kTilePlaces - 1) / kTilePlaces;
      const int parts = (tiles + kTiles - 1) / kTiles;
      const int tasks = model.blocks * parts, begin = tasks * warp / kWarps;
      int block = begin / parts, from = begin % parts * kPart;
#pragma unroll 1
      for (int left = tasks * (warp + 1) / kWarps - begin; left > 0; --left) {
        const bool is_last = from + kPart >= tiles * kTilePlaces;
        if (kSide > 0 && is_last && tiles % kTiles != 0)
          multiply_block<1>(block, first + from, from);
        else
          multiply_block<kTiles>(block, first + from, from);
        block += is_last;
        from = is_last ? 0 : from + kPart;
      }
      __syncthreads();
      // A warp a face; lanes without a place take the last one again.
      if (warp >= count) continue;
      const int place = min(first + lane, places() - 1);
      const int at = warp * places() + place - first;
      const float* const squares = layout.squares(memory) + at;
      float distance = 0;
      for (int block = 0; block < model.blocks; ++block) distance += squares[block * at_once];
      const bool has_likelihood = rule.likelihood > 0;
      const float weight = layout.weights(memory, warp)[place];
      const float unlikelihood = has_likelihood ? layout.unlikelihoods(memory)[at] : 0;
      const float cost = texture::place_cost(weight, distance, unlikelihood, model.base);
      if (first > 0 && !is_better(cost, place)) continue;
      least = cost;
      index = place;
      told = has_likelihood ? texture::told_cost(weight, distance, unlikelihood, rule.likelihood)
                            : cost;
    }
    if (warp >= count) return;
    const int own = index;
#pragma unroll
    for (int apart = kWarp / 2; apart > 0; apart /= 2) {
      const float other = __shfl_xor_sync(kAllLanes, least, apart);
      const int place = __shfl_xor_sync(kAllLanes, index, apart);
      if (is_better(other, place)) least = other, index = place;
    }
    // By the lane that has found it.
    const int finder = __ffs(static_cast<int>(__ballot_sync(kAllLanes, own == index))) - 1;
    if (lane == finder)
      found(warp, TextureMatch{index % across() * step() - reach(),
                               index / across() * step() - reach(), static_cast<double>(told)});
  }
};

}  // namespace patch

/// The offset of the least cost around a point of each of `count` faces, which are in `memory`; by
/// all threads of a block, of which one a face calls found(face, match). `memory`: shared, of
/// layout.bytes(); others may use it again behind a barrier. The model's words may still be on
/// their way there.
template <int kThreads, typename Found>
__device__ void match_patch(const PatchRule& rule, const DevicePatch& model,
                            const PatchMemory& layout, void* memory, int count, Found found) {
  static_assert(kThreads / kWarp >= PatchMemory::kMostFaces);
  const auto run = [&](const auto& search) {
    search.prepare();
    search.run(found);
  };
  constexpr int kMasmSide = 13, kMasmReach = 2;
  if (rule.side == kMasmSide && rule.reach == kMasmReach && rule.step == 1 && model.is_staged()) {
    // Its numbers are known to the compiler.
    const auto of = [&](PatchRule::Gradient gradient) {
      return PatchMemory({kMasmSide, kMasmReach, 1, gradient, true, 0, rule.likelihood},
                         layout.most_blocks, layout.faces);
    };
    if (rule.planes() == 1) {
      const PatchMemory masm = of(PatchRule::kForward);
      return run(
          patch::PatchSearch<kThreads, kMasmSide, kMasmReach, 1>{rule, model, masm, memory, count});
    }
    const PatchMemory masm = of(PatchRule::kTurns);
    return run(
        patch::PatchSearch<kThreads, kMasmSide, kMasmReach, 2>{rule, model, masm, memory, count});
  }
  return run(patch::PatchSearch<kThreads, 0, 0, 0>{rule, model, layout, memory, count});
}

}  // namespace cuface::cuda
