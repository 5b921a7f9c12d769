// Where a line profile fits, by one block: the bits of match_line(), a thread a place.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/image.h"
#include "kernels/texture/line_rules.h"
#include "kernels/texture/texture.h"

namespace cuface::cuda {

/// What a block shares while it looks for a profile.
struct LineMemory {
  int gradients, places;

  CUFACE_HD explicit LineMemory(const LineRule& rule)
      : gradients(2 * (rule.length / 2 + rule.reach) + 1), places(rule.across()) {}
  CUFACE_HD std::size_t bytes() const {
    return sizeof(double) * static_cast<std::size_t>(gradients + places);
  }
};

#ifdef __CUDACC__
/// The offset along the normal with the least cost, for all threads of a block: as
/// cuface::match_line(). `memory`: shared, of LineMemory::bytes(); others may use it again behind a
/// barrier.
template <int kThreads>
__device__ TextureMatch match_line(const ImageView<const std::uint8_t>& picture,
                                   const ShapePoint& point, const ShapePoint& step,
                                   const LineRule& rule, const double* mean, const double* inverse,
                                   void* memory) {
  const LineMemory layout(rule);
  auto* const gradients = static_cast<double*>(memory);
  double* const costs = gradients + layout.gradients;
  const int first = -(layout.gradients / 2);
  for (int i = static_cast<int>(threadIdx.x); i < layout.gradients; i += kThreads)
    gradients[i] = texture::line_pixel(picture, point, step, first + i) -
                   texture::line_pixel(picture, point, step, first + i - 1);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < layout.places; i += kThreads)
    costs[i] = texture::line_cost(gradients + i * rule.step, rule.length, mean, inverse);
  __syncthreads();
  TextureMatch best{0, 0, kDearest};
  for (int i = 0; i < layout.places; ++i)
    if (costs[i] < best.cost) best = {i * rule.step - rule.reach, 0, costs[i]};
  return best;
}
#endif

}  // namespace cuface::cuda
