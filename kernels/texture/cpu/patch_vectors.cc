#include <algorithm>
#include <cstddef>
#include <span>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/texture/cpu/patch_vectors.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/dispatch.h"
#include "kernels/texture/cpu/patch_vectors.h"
#include "kernels/texture/float_patch.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::texture::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Rows = hn::CappedTag<float, kPatchRows>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Rows()));
constexpr int kVectors = kPatchRows / kLanes;
// So that sums, rows and a patch's number stay in registers.
constexpr int kMostPatches = HWY_TARGET <= HWY_AVX3 ? 12 : std::max(12 / kVectors, 1);

template <int kCount>
HWY_INLINE void add(const float* block, int size, const float* const* patches, float* costs) {
  const Rows d;
  constexpr std::size_t kPlaces = kCount;
  hn::Vec<Rows> sums[kPlaces][kVectors];
  for (int i = 0; i < kCount; ++i)
    for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::Zero(d);
  for (int k = 0; k < size; ++k, block += kPatchRows) {
    hn::Vec<Rows> rows[kVectors];
    for (int v = 0; v < kVectors; ++v) rows[v] = hn::LoadU(d, block + v * kLanes);
    for (int i = 0; i < kCount; ++i) {
      const auto number = hn::Set(d, patches[i][k]);
      for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::Add(sums[i][v], hn::Mul(rows[v], number));
    }
  }
  alignas(64) float squares[kPlaces][kPatchRows];
  for (int i = 0; i < kCount; ++i)
    for (int v = 0; v < kVectors; ++v)
      hn::Store(hn::Mul(sums[i][v], sums[i][v]), d, squares[i] + v * kLanes);
  for (int row = 0; row < kPatchRows; ++row)
    for (int i = 0; i < kCount; ++i) costs[i] += squares[i][row];
}

template <int kCount = kMostPatches>
HWY_INLINE void add_up_to(const float* block, int size, int count, const float* const* patches,
                          float* costs) {
  if (count == kCount) return add<kCount>(block, size, patches, costs);
  if constexpr (kCount > 1) add_up_to<kCount - 1>(block, size, count, patches, costs);
}

void add_rows(const float* block, int size, std::span<const float* const> patches, float* costs) {
  const int all = static_cast<int>(patches.size());
  for (int first = 0; first < all; first += kMostPatches) {
    add_up_to(block, size, std::min(kMostPatches, all - first), patches.data() + first,
              costs + first);
  }
}

}  // namespace cuface::texture::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::texture {

HWY_EXPORT(add_rows);

void add_rows_vector(const float* block, int size, std::span<const float* const> patches,
                     float* costs) {
  CUFACE_DISPATCH(add_rows)(block, size, patches, costs);
}

}  // namespace cuface::texture
#endif
