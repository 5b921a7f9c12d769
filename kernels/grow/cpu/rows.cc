#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/grow/cpu/rows.cc"
#include "kernels/grow/cpu/rows.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/common/dispatch.h"
#include "kernels/grow/steps.h"
#include "kernels/landmarks/regression.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::grow::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::CappedTag<std::uint8_t, kBlock>;
using Words = hn::CappedTag<std::int32_t, kRowUnit>;
using Longs = hn::CappedTag<std::int64_t, kRowUnit / 2>;
using Floats = hn::CappedTag<float, kRowUnit>;

/// `more - less > by` in bytes that stop at 0: the split's condition, or its opposite for `flip`.
struct ByteTest {
  const std::uint8_t *more, *less;
  std::uint8_t by, bit;
};

void buckets_vector(const ForestSplit* tests, std::size_t count, const std::uint8_t* pixels,
                    std::uint8_t* buckets) {
  const Bytes d;
  ByteTest byte_tests[kMostGroup];
  std::uint8_t flip = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t *const a = pixels + tests[i].a * kBlock, *const b =
                                                                    pixels + tests[i].b * kBlock;
    const std::int32_t threshold = forest::whole_threshold(tests[i].threshold);
    const auto bit = static_cast<std::uint8_t>(1u << i);
    if (threshold >= 0) {
      byte_tests[i] = {a, b, static_cast<std::uint8_t>(threshold), bit};
    } else {
      byte_tests[i] = {b, a, static_cast<std::uint8_t>(-threshold - 1), bit};
      flip = static_cast<std::uint8_t>(flip | bit);
    }
  }
  for (std::size_t s = 0; s < kBlock; s += hn::Lanes(d)) {
    auto bucket = hn::Set(d, flip);
    for (std::size_t i = 0; i < count; ++i) {
      const ByteTest& test = byte_tests[i];
      const auto apart = hn::SaturatedSub(hn::Load(d, test.more + s), hn::Load(d, test.less + s));
      const auto over = hn::SaturatedSub(apart, hn::Set(d, test.by));
      bucket = hn::Xor(bucket, hn::IfThenElseZero(hn::Ne(over, hn::Zero(d)), hn::Set(d, test.bit)));
    }
    hn::Store(bucket, d, buckets + s);
  }
}

/// To so many groups at once.
template <int kGroups, bool kWeighted>
HWY_INLINE void add_row(const std::int32_t* row, std::int32_t weight, std::int32_t* const* sums,
                        std::size_t stride) {
  const Words d;
  for (std::size_t k = 0; k < stride; k += hn::Lanes(d)) {
    auto value = hn::Load(d, row + k);
    if (kWeighted) value = hn::Mul(value, hn::Set(d, weight));
    for (int g = 0; g < kGroups; ++g)
      hn::Store(hn::Add(hn::Load(d, sums[g] + k), value), d, sums[g] + k);
  }
}

template <bool kWeighted>
void add_rows_to(const std::int32_t* rows, const std::uint16_t* samples, std::size_t count,
                 const std::int32_t* weights, const BucketSums& to) {
  constexpr int kTogether = 4;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t sample = samples[i];
    const std::int32_t* const row = rows + sample * to.stride;
    const std::int32_t weight = kWeighted ? weights[sample] : 1;
    for (int first = 0; first < to.groups; first += kTogether) {
      std::int32_t* sums[kTogether];
      const int groups = std::min(to.groups - first, kTogether);
      for (int g = 0; g < groups; ++g) {
        const auto group = static_cast<std::size_t>(first + g);
        sums[g] = to.sums + group * to.group + to.buckets[group * kBlock + sample] * to.stride;
      }
      switch (groups) {
        case 1:
          add_row<1, kWeighted>(row, weight, sums, to.stride);
          break;
        case 2:
          add_row<2, kWeighted>(row, weight, sums, to.stride);
          break;
        case 3:
          add_row<3, kWeighted>(row, weight, sums, to.stride);
          break;
        default:
          add_row<4, kWeighted>(row, weight, sums, to.stride);
      }
    }
  }
}

void rows_vector(const std::int32_t* rows, const std::uint16_t* samples, std::size_t count,
                 const std::int32_t* weights, const BucketSums& to) {
  weights ? add_rows_to<true>(rows, samples, count, weights, to)
          : add_rows_to<false>(rows, samples, count, weights, to);
}

std::uint32_t subtract_vector(const RowUpdate* updates, std::size_t count, std::size_t stride) {
  const Words d;
  const auto most = hn::Set(d, kMostResidual), least = hn::Set(d, -kMostResidual);
  auto bits = hn::Zero(d);
  for (std::size_t i = 0; i < count; ++i) {
    const RowUpdate& update = updates[i];
    for (std::size_t k = 0; k < stride; k += hn::Lanes(d)) {
      const auto by = hn::And(hn::Load(d, update.leaf + k), hn::Load(d, update.mask + k));
      const auto rest = hn::Sub(hn::Load(d, update.row + k), by);
      const auto kept = hn::Min(hn::Max(rest, least), most);
      hn::Store(kept, d, update.row + k);
      bits = hn::Or(bits, hn::Abs(kept));
    }
  }
  alignas(64) std::int32_t lanes[kRowUnit];
  hn::Store(bits, d, lanes);
  std::uint32_t all = 0;
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) all |= static_cast<std::uint32_t>(lanes[i]);
  return all;
}

HWY_INLINE void add_wide(const std::int32_t* row, std::size_t stride, std::int64_t* to) {
  const Longs d;
  const hn::Rebind<std::int32_t, Longs> narrow;
  for (std::size_t k = 0; k < stride; k += hn::Lanes(d))
    hn::StoreU(hn::Add(hn::LoadU(d, to + k), hn::PromoteTo(d, hn::LoadU(narrow, row + k))), d,
               to + k);
}

void take_vector(std::int32_t* sums, std::size_t stride, int splits, std::int64_t* const* left,
                 std::int64_t* total) {
  const Words d;
  // The upper half of the buckets has the last split. Then it is folded onto the lower half.
  for (int split = splits - 1; split >= 0; --split) {
    const std::size_t half = std::size_t{1} << split;
    std::int32_t* const upper = sums + half * stride;
    for (std::size_t k = 0; k < stride; k += hn::Lanes(d)) {
      auto sum = hn::Zero(d);
      for (std::size_t bucket = 0; bucket < half; ++bucket) {
        const auto value = hn::Load(d, upper + bucket * stride + k);
        std::int32_t* const lower = sums + bucket * stride + k;
        sum = hn::Add(sum, value);
        hn::Store(hn::Add(hn::Load(d, lower), value), d, lower);
      }
      hn::Store(sum, d, upper + k);
    }
    add_wide(upper, stride, left[split]);
  }
  if (total) add_wide(sums, stride, total);
  std::fill_n(sums, stride << splits, 0);
}

void leaves_vector(float* shape, const float* const* leaves, std::size_t count, std::size_t size) {
  const Floats d;
  std::size_t k = 0;
  for (; k + hn::Lanes(d) <= size; k += hn::Lanes(d)) {
    auto sum = hn::LoadU(d, shape + k);
    for (std::size_t i = 0; i < count; ++i) sum = hn::Add(sum, hn::LoadU(d, leaves[i] + k));
    hn::StoreU(sum, d, shape + k);
  }
  for (; k < size; ++k)
    for (std::size_t i = 0; i < count; ++i) shape[k] += leaves[i][k];
}

}  // namespace cuface::grow::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::grow {

HWY_EXPORT(buckets_vector);
HWY_EXPORT(rows_vector);
HWY_EXPORT(subtract_vector);
HWY_EXPORT(take_vector);
HWY_EXPORT(leaves_vector);

void find_buckets(std::span<const ForestSplit> tests, const std::uint8_t* pixels,
                  std::uint8_t* buckets) {
  CUFACE_DISPATCH(buckets_vector)(tests.data(), tests.size(), pixels, buckets);
}

void add_rows(const std::int32_t* rows, std::span<const std::uint16_t> samples,
              const std::int32_t* weights, const BucketSums& to) {
  CUFACE_DISPATCH(rows_vector)(rows, samples.data(), samples.size(), weights, to);
}

std::uint32_t subtract_leaves(std::span<const RowUpdate> updates, std::size_t stride) {
  return CUFACE_DISPATCH(subtract_vector)(updates.data(), updates.size(), stride);
}

void take_group(std::int32_t* sums, std::size_t stride, int splits, std::int64_t* const* left,
                std::int64_t* total) {
  CUFACE_DISPATCH(take_vector)(sums, stride, splits, left, total);
}

void add_leaves(float* shape, std::span<const float* const> leaves, std::size_t size) {
  CUFACE_DISPATCH(leaves_vector)(shape, leaves.data(), leaves.size(), size);
}

}  // namespace cuface::grow
#endif
