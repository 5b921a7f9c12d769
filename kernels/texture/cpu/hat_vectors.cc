#include <algorithm>
#include <cmath>
#include <span>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/texture/cpu/hat_vectors.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/common/dispatch.h"
#include "kernels/texture/cpu/hat_vectors.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::texture::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Half of the directions at once where vectors have four floats.
using Directions = hn::CappedTag<float, kVectorBins>;

/// By direction ascending.
HWY_INLINE float sum_of(const float* parts) {
  float sum = 0;
  for (int i = 0; i < kVectorBins; ++i) sum += parts[i];
  return sum;
}

float describe(const HatPatch& patch, std::span<const HatTaps> rows,
               std::span<const HatTaps> columns, float* sums, float* out) {
  const Directions d;
  const int lanes = static_cast<int>(hn::Lanes(d)), width = patch.right - patch.left;
  alignas(64) float parts[kVectorBins];
  for (int bin = 0; bin < kVectorBins; bin += lanes) {
    auto all = hn::Zero(d);
    float* to = out + bin;
    for (const HatTaps& row : rows) {
      const int low = std::max(row.first, patch.top);
      const int high = std::min(row.first + row.count, patch.bottom);
      for (int u = 0; u < width; ++u) {
        const float* pixel =
            patch.pixels + (low - patch.top) * patch.stride + u * kVectorBins + bin;
        auto sum = hn::Zero(d);
        for (int v = low; v < high; ++v, pixel += patch.stride) {
          sum = hn::Add(sum, hn::Mul(hn::Set(d, row.weight[v - row.first]), hn::LoadU(d, pixel)));
        }
        hn::StoreU(sum, d, sums + u * lanes);
      }
      for (const HatTaps& column : columns) {
        const int left = std::max(column.first, patch.left);
        const int right = std::min(column.first + column.count, patch.right);
        auto sum = hn::Zero(d);
        for (int u = left; u < right; ++u) {
          sum = hn::Add(sum, hn::Mul(hn::Set(d, column.weight[u - column.first]),
                                     hn::LoadU(d, sums + (u - patch.left) * lanes)));
        }
        all = hn::Add(all, sum);
        hn::StoreU(hn::Sqrt(sum), d, to);
        to += kVectorBins;
      }
    }
    hn::StoreU(all, d, parts + bin);
  }
  return std::sqrt(sum_of(parts));
}

float weigh(const float* descriptor, const float* coefficients, int histograms) {
  const Directions d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  alignas(64) float parts[kVectorBins];
  for (int bin = 0; bin < kVectorBins; bin += lanes) {
    auto sum = hn::Zero(d);
    for (int i = bin; i < histograms * kVectorBins; i += kVectorBins) {
      sum = hn::Add(sum, hn::Mul(hn::LoadU(d, descriptor + i), hn::LoadU(d, coefficients + i)));
    }
    hn::StoreU(sum, d, parts + bin);
  }
  return sum_of(parts);
}

}  // namespace cuface::texture::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::texture {

HWY_EXPORT(describe);
HWY_EXPORT(weigh);

float describe_hat_vector(const HatPatch& patch, std::span<const HatTaps> rows,
                          std::span<const HatTaps> columns, float* sums, float* out) {
  return CUFACE_DISPATCH(describe)(patch, rows, columns, sums, out);
}

float weigh_hat_vector(const float* descriptor, const float* coefficients, int histograms) {
  return CUFACE_DISPATCH(weigh)(descriptor, coefficients, histograms);
}

}  // namespace cuface::texture
#endif
