// Where a HAT descriptor fits, by one block: the bits of FloatHat. A warp makes a descriptor, and a
// lane of it adds up a column of pixels. A pixel has two directions only: what the others would add
// are zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/image.h"
#include "kernels/texture/float_hat.h"
#include "kernels/texture/texture.h"

namespace cuface::cuda {

/// What descriptors of one level need, in device memory.
struct DeviceHat {
  const texture::HatGradient* gradients;  ///< by dy and dx
  const texture::HatTaps* rows;           ///< [rule.rows]
  const texture::HatTaps* columns;        ///< [rule.columns]
};

/// What a block shares while it looks for a descriptor.
struct HatMemory {
  int region, patch, bins, places, warps;

  CUFACE_HD HatMemory(const HatRule& rule, int patch_of_level, int warps_of_block)
      : region(patch_of_level + 2 * rule.reach),
        patch(patch_of_level),
        bins(rule.bins),
        places(rule.across() * rule.across()),
        warps(warps_of_block) {}
  CUFACE_HD std::size_t sums_at() const {
    return sizeof(texture::HatGradient) * static_cast<std::size_t>(region * region);
  }
  CUFACE_HD std::size_t costs_at() const {
    return sums_at() + sizeof(float) * static_cast<std::size_t>(warps * patch * bins);
  }
  CUFACE_HD std::size_t bytes() const {
    return costs_at() + sizeof(float) * static_cast<std::size_t>(places);
  }
};

#ifdef __CUDACC__
namespace hat {

/// What the descriptor at a place of the region costs, by a warp.
__device__ inline float cost(const texture::HatGradient* region, int across, int left, int top,
                             const HatRule& rule, int patch, const DeviceHat& tables,
                             const float* model, float* sums) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, bins = rule.bins;
  float all = 0, weighed = 0;  // of the lane's direction
  for (int row = 0; row < rule.rows; ++row) {
    const texture::HatTaps& taps = tables.rows[row];
    for (int u = lane; u < patch; u += kWarp) {
      float* const column = sums + u;
      for (int bin = 0; bin < bins; ++bin) column[bin * patch] = 0;
      const texture::HatGradient* pixel = region + (top + taps.first) * across + left + u;
      for (int v = 0; v < taps.count; ++v, pixel += across) {
        const float weight = taps.weight[v];
        column[pixel->bin * patch] += weight * pixel->here;
        column[(pixel->bin + 1 < bins ? pixel->bin + 1 : 0) * patch] += weight * pixel->next;
      }
    }
    __syncwarp();
    if (lane < bins) {
      const float* const coefficients = model + 1 + row * rule.columns * bins + lane;
      for (int c = 0; c < rule.columns; ++c) {
        const texture::HatTaps& of = tables.columns[c];
        float sum = 0;
        for (int u = 0; u < of.count; ++u) sum += of.weight[u] * sums[lane * patch + of.first + u];
        all += sum;
        weighed += std::sqrt(sum) * coefficients[c * bins];
      }
    }
    __syncwarp();
  }
  float total = 0, product = 0;
  for (int bin = 0; bin < bins; ++bin) {
    total += __shfl_sync(kAllLanes, all, bin);
    product += __shfl_sync(kAllLanes, weighed, bin);
  }
  const float norm = std::sqrt(total);
  const float scale = norm > 1e-7f ? static_cast<float>(rule.length) / norm : 0;
  return model[0] + scale * product;
}

}  // namespace hat

/// The offset of the least cost around a point, for all threads of a block of whole warps: as
/// match_hat(). `model`: intercept and coefficients. `memory`: shared, of HatMemory::bytes();
/// others may use it again behind a barrier.
template <int kThreads>
__device__ TextureMatch match_hat(ImageView<const std::uint8_t> picture, const ShapePoint& point,
                                  const HatRule& rule, int patch, const DeviceHat& tables,
                                  const float* model, void* memory) {
  constexpr int kWarps = kThreads / kWarp;
  const HatMemory layout(rule, patch, kWarps);
  auto* const bytes = static_cast<std::byte*>(memory);
  auto* const region = reinterpret_cast<texture::HatGradient*>(bytes);
  auto* const costs = reinterpret_cast<float*>(bytes + layout.costs_at());
  const int x = grid_pixel(point.x, rule.step), y = grid_pixel(point.y, rule.step);
  const int left = x - rule.reach - patch / 2, top = y - rule.reach - patch / 2;
  for (int i = static_cast<int>(threadIdx.x); i < layout.region * layout.region; i += kThreads) {
    const int u = left + i % layout.region, v = top + i / layout.region;
    texture::HatGradient g{0, 0, 0};
    // The last row and column have no gradient.
    if (u >= 0 && v >= 0 && u + 1 < picture.width && v + 1 < picture.height) {
      const std::uint8_t* const here = picture.row(v) + u;
      const int dx = here[1] - here[0], dy = picture.row(v + 1)[u] - here[0];
      g = tables.gradients[(dy + 255) * texture::kHatDifferences + dx + 255];
    }
    region[i] = g;
  }
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / kWarp, across = rule.across();
  float* const sums = reinterpret_cast<float*>(bytes + layout.sums_at()) + warp * patch * rule.bins;
  for (int place = warp; place < layout.places; place += kWarps) {
    const float found = hat::cost(region, layout.region, place % across * rule.step,
                                  place / across * rule.step, rule, patch, tables, model, sums);
    if (threadIdx.x % kWarp == 0) costs[place] = found;
  }
  __syncthreads();
  TextureMatch best{0, 0, kDearest};
  for (int place = 0; place < layout.places; ++place) {
    if (const double found = costs[place]; found < best.cost)
      best = {place % across * rule.step - rule.reach, place / across * rule.step - rule.reach,
              found};
  }
  return best;
}
#endif

}  // namespace cuface::cuda
