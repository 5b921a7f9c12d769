#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/texture/cpu/patch_vectors.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/dispatch.h"
#include "kernels/common/pair_products-inl.h"
#include "kernels/texture/cpu/patch_vectors.h"
#include "kernels/texture/integer_patch.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::texture::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Rows = hn::CappedTag<std::int32_t, kPatchRows>;
using Pairs = hn::Repartition<std::int16_t, Rows>;
using Floats = hn::RebindToFloat<Rows>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Rows()));
constexpr int kVectors = kPatchRows / kLanes;
// So that sums, rows and a patch's number stay in registers.
constexpr int kMostPatches = HWY_TARGET <= HWY_AVX3 ? 12 : std::max(12 / kVectors, 1);

template <int kCount>
HWY_INLINE void add(const std::int16_t* block, int pairs, const PatchUnits& rows,
                    const std::int16_t* const* patches, float* costs, float* unlikelihoods) {
  const Rows d;
  const Pairs of_pairs;
  const Floats floats;
  constexpr std::size_t kPlaces = kCount;
  hn::Vec<Rows> sums[kPlaces][kVectors];
  for (int i = 0; i < kCount; ++i)
    for (int v = 0; v < kVectors; ++v)
      sums[i][v] = hn::Neg(hn::LoadU(d, rows.offsets + v * kLanes));
  for (int k = 0; k < pairs; ++k, block += 2 * kPatchRows) {
    hn::Vec<Pairs> some[kVectors];
    for (int v = 0; v < kVectors; ++v) some[v] = hn::LoadU(of_pairs, block + v * 2 * kLanes);
    for (int i = 0; i < kCount; ++i) {
      std::int32_t both;
      std::memcpy(&both, patches[i] + 2 * k, sizeof both);
      const auto pair = hn::BitCast(of_pairs, hn::Set(d, both));
      for (int v = 0; v < kVectors; ++v)
        sums[i][v] = hn::Add(sums[i][v], cuface::HWY_NAMESPACE::pair_products(d, some[v], pair));
    }
  }
  for (int i = 0; i < kCount; ++i) {
    alignas(64) float squares[kPatchRows], products[kPatchRows];
    for (int v = 0; v < kVectors; ++v) {
      const auto product =
          hn::Mul(hn::ConvertTo(floats, sums[i][v]), hn::LoadU(floats, rows.scales + v * kLanes));
      hn::Store(hn::Mul(product, product), floats, squares + v * kLanes);
      if (unlikelihoods) hn::Store(product, floats, products + v * kLanes);
    }
    if (unlikelihoods) unlikelihoods[i] = take_likelihood(products, squares);
    costs[i] += sum_in_halves(squares);
  }
}

template <int kCount = kMostPatches>
HWY_INLINE void add_up_to(const std::int16_t* block, int pairs, const PatchUnits& rows, int count,
                          const std::int16_t* const* patches, float* costs, float* unlikelihoods) {
  if (count == kCount) return add<kCount>(block, pairs, rows, patches, costs, unlikelihoods);
  if constexpr (kCount > 1)
    add_up_to<kCount - 1>(block, pairs, rows, count, patches, costs, unlikelihoods);
}

void add_rows(const std::int16_t* block, int pairs, const PatchUnits& rows,
              std::span<const std::int16_t* const> patches, float* costs, float* unlikelihoods) {
  const int all = static_cast<int>(patches.size());
  for (int first = 0; first < all; first += kMostPatches) {
    add_up_to(block, pairs, rows, std::min(kMostPatches, all - first), patches.data() + first,
              costs + first, unlikelihoods ? unlikelihoods + first : nullptr);
  }
}

}  // namespace cuface::texture::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::texture {

HWY_EXPORT(add_rows);

void add_rows_vector(const std::int16_t* block, int pairs, const PatchUnits& rows,
                     std::span<const std::int16_t* const> patches, float* costs,
                     float* unlikelihoods) {
  CUFACE_DISPATCH(add_rows)(block, pairs, rows, patches, costs, unlikelihoods);
}

}  // namespace cuface::texture
#endif
