// Where a patch fits, by one block: the bits of FloatPatch::match().
//
// All places take the first rows of the matrix. The likeliest one takes all others, and then those
// that still cost less. A cost is a sum of squares, so it only grows: which rows are multiplied
// together changes no result.
#pragma once

#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/lanes.h"
#include "kernels/texture/float_patch.h"
#include "kernels/texture/texture.h"

namespace cuface::cuda {

/// A patch's model in device memory, as texture::PatchTable has it.
struct DevicePatch {
  const float* mean;  ///< [size]
  const float* rows;  ///< blocks of them, each at four floats; perhaps in shared memory
  int blocks;
  float edge;
};

/// What a block shares while it looks for a patch. Pixels' gradients lie where costs come later.
struct PatchMemory {
  /// Squares that are made together: of kPatchRows of 64 places, or more of fewer.
  static constexpr int kSquares = 1024;
  static_assert(kSquares >= (kMaxPatchSide * kMaxPatchSide + texture::kPatchRows - 1) /
                                texture::kPatchRows * texture::kPatchRows);
  int area, places, size;  ///< numbers of a side; all places; a patch

  CUFACE_HD explicit PatchMemory(const PatchRule& rule)
      : area(rule.side + 2 * rule.reach),
        places(rule.across() * rule.across()),
        size(rule.size()) {}
  CUFACE_HD int floats_before() const { return rounded(area * area) + rounded(size); }
  CUFACE_HD int floats_between() const {
    const int pixels = (area + 1) * (area + 1), costs = kSquares + 2 * rounded(places);
    return rounded(pixels > costs + places ? pixels : costs + places);  // two lists of 16 bits
  }
  CUFACE_HD std::size_t bytes() const {
    return sizeof(float) * static_cast<std::size_t>(floats_before() + floats_between() + 4);
  }

#ifdef __CUDACC__
  __device__ float* gradients(void* memory) const { return static_cast<float*>(memory); }
  __device__ float* mean(void* memory) const { return gradients(memory) + rounded(area * area); }
  __device__ float* pixels(void* memory) const { return gradients(memory) + floats_before(); }
  __device__ float* squares(void* memory) const { return pixels(memory); }
  __device__ float* costs(void* memory) const { return pixels(memory) + kSquares; }
  __device__ float* weights(void* memory) const { return costs(memory) + rounded(places); }
  __device__ std::uint16_t* list(void* memory, int i) const {
    return reinterpret_cast<std::uint16_t*>(weights(memory) + rounded(places)) + i * places;
  }
  /// Of the best place so far: its cost, and its index.
  __device__ float* best(void* memory) const { return pixels(memory) + floats_between(); }
#endif

  /// So that rows of four floats begin together.
  CUFACE_HD static int rounded(int n) { return (n + 3) / 4 * 4; }
};

#ifdef __CUDACC__
namespace patch {

/// Products of `kRows` rows of a block with a patch, which begins at `from` in rows of `area`
/// gradients. kSide: the patch's side, or 0 for any.
template <int kSide, int kRows>
__device__ inline void multiply(const float* rows, const float* mean, const float* from, int area,
                                int any_side, float (&sums)[kRows]) {
  const int side = kSide > 0 ? kSide : any_side;
#pragma unroll
  for (int r = 0; r < kRows; ++r) sums[r] = 0;
#pragma unroll 1
  for (int y = 0; y < side; ++y, from += area, mean += side, rows += side * texture::kPatchRows) {
#pragma unroll
    for (int x = 0; x < side; ++x) {
      const float number = from[x] - mean[x];
      if constexpr (kRows == 4) {
        const float4 m = *reinterpret_cast<const float4*>(rows + x * texture::kPatchRows);
        sums[0] += m.x * number;
        sums[1] += m.y * number;
        sums[2] += m.z * number;
        sums[3] += m.w * number;
      } else {
        sums[0] += rows[x * texture::kPatchRows] * number;
      }
    }
  }
}

/// One search, by all threads of a block.
template <int kThreads, int kSide>
struct PatchSearch {
  const PatchRule& rule;
  const DevicePatch& model;
  const PatchMemory layout;
  void* const memory;

  __device__ float cost(int place) const {
    return layout.weights(memory)[place] * layout.costs(memory)[place];
  }

  template <int kRows>
  __device__ void multiply_all(const std::uint16_t* list, int count, int first, int blocks) const {
    constexpr int kGroups = texture::kPatchRows / kRows;
    const int across = rule.across(), groups = blocks * kGroups;
    const std::ptrdiff_t block_size = layout.size * texture::kPatchRows;
    for (int i = static_cast<int>(threadIdx.x); i < count * groups; i += kThreads) {
      const int place = list[i / groups], block = i % groups / kGroups, group = i % kGroups;
      const int u = place % across * rule.step, v = place / across * rule.step;
      float sums[kRows];
      multiply<kSide, kRows>(model.rows + (first + block) * block_size + group * kRows,
                             layout.mean(memory), layout.gradients(memory) + v * layout.area + u,
                             layout.area, rule.side, sums);
      float* const to = layout.squares(memory) + i * kRows;
#pragma unroll
      for (int r = 0; r < kRows; ++r) to[r] = sums[r] * sums[r];
    }
  }

  /// Adds so many blocks of rows to the costs of the places in a list.
  __device__ void add_blocks(const std::uint16_t* list, int count, int first, int blocks) const {
    const int rows = blocks * texture::kPatchRows, at_once = PatchMemory::kSquares / rows;
    for (int begin = 0; begin < count; begin += at_once) {
      const int some = min(at_once, count - begin);
      // Where threads are left, each takes one row: a product is a long chain.
      if (some * rows <= kThreads)
        multiply_all<1>(list + begin, some, first, blocks);
      else
        multiply_all<4>(list + begin, some, first, blocks);
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < some; i += kThreads) {
        float& cost = layout.costs(memory)[list[begin + i]];
        const float* const squares = layout.squares(memory) + i * rows;
        float sum = cost;
#pragma unroll 16
        for (int r = 0; r < rows; ++r) sum += squares[r];
        cost = sum;
      }
      __syncthreads();
    }
  }

  /// The least cost of those in a list, the first of equal ones, becomes the best.
  __device__ void find_best(const std::uint16_t* list, int count) const {
    if (threadIdx.x < kWarp) {
      int index = list[0];
      float least = cost(index);
      const auto take = [&](float other, int place) {
        if (other < least || (other == least && place < index)) least = other, index = place;
      };
      for (int i = static_cast<int>(threadIdx.x); i < count; i += kWarp)
        take(cost(list[i]), list[i]);
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
  __device__ float least() const { return layout.best(memory)[0]; }
  __device__ int best() const {
    return reinterpret_cast<const std::int32_t*>(layout.best(memory))[1];
  }

  /// The places that may still be better than the best one go to the other list.
  __device__ int keep_others(const std::uint16_t* list, int count, std::uint16_t* to) const {
    const float most = least();
    const int first = best();
    return BlockLanes{}.pick(
        count,
        [&](int i) {
          const float now = cost(list[i]);
          return now < most || (now == most && list[i] < first);
        },
        [&](int i, int place) { to[place] = list[i]; });
  }

  __device__ void prepare(const texture::PatchPixels& pixels,
                          const texture::BetweenPixels& at) const {
    const int rim = rule.side / 2 + rule.reach, area = layout.area, across = area + 1;
    const auto thread = static_cast<int>(threadIdx.x);
    float* const between = layout.pixels(memory);
    for (int i = thread; i < across * across; i += kThreads)
      between[i] = texture::pixel_gradient(pixels, rule.gradient == PatchRule::kForward,
                                           at.x - rim + i % across, at.y - rim + i / across);
    for (int i = thread; i < layout.size; i += kThreads) layout.mean(memory)[i] = model.mean[i];
    __syncthreads();
    const auto q = static_cast<float>(rule.q);
    for (int i = thread; i < area * area; i += kThreads) {
      const float* const above = between + i / area * across + i % area;
      layout.gradients(memory)[i] = texture::counted_gradient(
          at.mix(above[0], above[1], above[across], above[across + 1]), q);
    }
    __syncthreads();
    for (int i = thread; i < layout.places; i += kThreads) {
      texture::BetweenPixels corner = at;
      corner.x += i % rule.across() * rule.step - rule.reach;
      corner.y += i / rule.across() * rule.step - rule.reach;
      layout.costs(memory)[i] = 0;
      layout.list(memory, 0)[i] = static_cast<std::uint16_t>(i);
    }
    __syncthreads();
  }

  /// A thread each of the four pixels that a place lies between.
  __device__ void weigh(const texture::PatchPixels& pixels, const texture::BetweenPixels& at,
                        float strongest) const {
    constexpr int kCorners = 4, kAtOnce = PatchMemory::kSquares / kCorners;
    const auto thread = static_cast<int>(threadIdx.x);
    float* const weights = layout.weights(memory);
    float* const edges = layout.squares(memory);
    if (!(model.edge > 0)) {
      for (int i = thread; i < layout.places; i += kThreads) weights[i] = 1;
      __syncthreads();
      return;
    }
    for (int first = 0; first < layout.places; first += kAtOnce) {
      const int some = min(kAtOnce, layout.places - first);
      for (int i = thread; i < some * kCorners; i += kThreads) {
        const int place = first + i / kCorners, corner = i % kCorners;
        edges[i] = texture::edge_intensity(
            pixels, at.x + place % rule.across() * rule.step - rule.reach + corner % 2,
            at.y + place / rule.across() * rule.step - rule.reach + corner / 2);
      }
      __syncthreads();
      for (int i = thread; i < some; i += kThreads) {
        const float* const e = edges + i * kCorners;
        weights[first + i] =
            texture::edge_weight(model.edge, at.mix(e[0], e[1], e[2], e[3]), strongest);
      }
      __syncthreads();
    }
  }

  /// As many blocks of rows, from the `first` on, as make work for all threads, four rows each.
  __device__ int blocks_for(int places, int first) const {
    const int most = kThreads * 4 / texture::kPatchRows / places;
    return max(1, min(most, model.blocks - first));
  }

  __device__ TextureMatch run() const {
    std::uint16_t *list = layout.list(memory, 0), *other = layout.list(memory, 1);
    int block = blocks_for(layout.places, 0);
    add_blocks(list, layout.places, 0, block);
    find_best(list, layout.places);
    if (block < model.blocks) {
      if (threadIdx.x == 0) other[0] = static_cast<std::uint16_t>(best());
      __syncthreads();
      add_blocks(other, 1, block, model.blocks - block);
      if (threadIdx.x == 0) layout.best(memory)[0] = cost(best());
      __syncthreads();
      int count = layout.places;
      // The best one itself goes, as it costs no less.
      while (block < model.blocks && (count = keep_others(list, count, other)) > 0) {
        std::uint16_t* const kept = other;
        other = list;
        list = kept;
        const int blocks = blocks_for(count, block);
        add_blocks(list, count, block, blocks);
        block += blocks;
      }
      if (count > 0) count = keep_others(list, count, other);
      if (count > 0) find_best(other, count);
    }
    const int place = best(), across = rule.across();
    return {place % across * rule.step - rule.reach, place / across * rule.step - rule.reach,
            static_cast<double>(least())};
  }
};

}  // namespace patch

/// The offset of the least cost around a point, for all threads of a block. `memory`: shared, of
/// PatchMemory::bytes(); others may use it again behind a barrier. `strongest`: of the picture's
/// edges, squared.
template <int kThreads>
__device__ TextureMatch match_patch(const texture::PatchPixels& pixels, const ShapePoint& point,
                                    const PatchRule& rule, const DevicePatch& model,
                                    int strongest_square, void* memory) {
  const auto at = texture::BetweenPixels::of(point.x, point.y, rule.is_bilinear);
  const float strongest = model.edge > 0 ? std::sqrt(static_cast<float>(strongest_square)) : 0.0f;
  const auto run = [&](const auto& search) {
    search.prepare(pixels, at);
    search.weigh(pixels, at, strongest);
    return search.run();
  };
  constexpr int kMasmSide = 13;
  if (rule.side == kMasmSide)
    return run(patch::PatchSearch<kThreads, kMasmSide>{rule, model, PatchMemory(rule), memory});
  return run(patch::PatchSearch<kThreads, 0>{rule, model, PatchMemory(rule), memory});
}
#endif

}  // namespace cuface::cuda
