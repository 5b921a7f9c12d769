// Which leaf of each tree a face comes to, for vector code; to be included for each target.
#if defined(CUFACE_FOREST_WALK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUFACE_FOREST_WALK_INL_H
#undef CUFACE_FOREST_WALK_INL_H
#else
#define CUFACE_FOREST_WALK_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <iterator>

#include "kernels/common/simd.h"
#include "kernels/landmarks/cpu/regress.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::forest::HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

using Ints = hn::ScalableTag<std::int32_t>;
using IntVector = hn::Vec<Ints>;
using IntMask = hn::Mask<Ints>;

/// Which of several trees go left at these splits.
HWY_INLINE IntMask goes_left(IntVector split, const std::int32_t* pool) {
  const Ints i;
  const auto a = hn::ShiftRight<20>(split);
  const auto b = hn::And(hn::ShiftRight<9>(split), hn::Set(i, 2047));
  const auto threshold = hn::Sub(hn::And(split, hn::Set(i, 511)), hn::Set(i, 256));
  return hn::Gt(hn::Sub(hn::GatherIndex(i, pool, a), hn::GatherIndex(i, pool, b)), threshold);
}

/// The split that each of several trees has come to, `levels` below `node`. Reading them all and
/// selecting is faster than a gather.
template <int levels>
HWY_INLINE IntVector split_below(const std::int32_t* splits, std::size_t row, std::size_t node,
                                 const IntMask* left) {
  if constexpr (levels == 0) {
    return hn::Load(Ints(), splits + node * row);
  } else {
    return hn::IfThenElse(left[0], split_below<levels - 1>(splits, row, 2 * node + 1, left + 1),  //
                          split_below<levels - 1>(splits, row, 2 * node + 2, left + 1));
  }
}

template <int depth, int level = 0>
HWY_INLINE IntVector walk_from(const std::int32_t* splits, std::size_t row,
                               const std::int32_t* pool, IntMask* left) {
  const Ints i;
  if constexpr (level == depth) {
    return hn::Zero(i);
  } else {
    left[level] = goes_left(split_below<level>(splits, row, 0, left), pool);
    const auto right = hn::IfThenZeroElse(left[level], hn::Set(i, 1 << (depth - 1 - level)));
    return hn::Add(right, walk_from<depth, level + 1>(splits, row, pool, left));
  }
}

/// Finds the leaf of every tree, counted through the stage.
template <int depth>
void walk_trees(const std::int32_t* splits, std::size_t row, const std::int32_t* pool,
                std::size_t trees, std::int32_t* out) {
  const Ints i;
  const std::size_t lanes = hn::Lanes(i);
  for (std::size_t t = 0; t < trees; t += lanes) {
    IntMask left[static_cast<std::size_t>(depth)];
    const auto tree = hn::Iota(i, static_cast<std::int32_t>(t));
    hn::Store(hn::Add(hn::ShiftLeft<depth>(tree), walk_from<depth>(splits + t, row, pool, left)), i,
              out + t);
  }
}

using WalkTrees = void (*)(const std::int32_t*, std::size_t, const std::int32_t*, std::size_t,
                           std::int32_t*);
constexpr WalkTrees kWalkTrees[VectorForest::kMaxDepth] = {
    walk_trees<1>, walk_trees<2>, walk_trees<3>, walk_trees<4>, walk_trees<5>};

#endif
}  // namespace cuface::forest::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_TARGET == HWY_AVX3
// For machines that have simd::byte_permutes() as well.
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vbmi")
namespace cuface::forest::HWY_NAMESPACE {

using Bytes = hn::ScalableTag<std::uint8_t>;
using ByteVector = hn::Vec<Bytes>;
using ByteMask = hn::Mask<Bytes>;

/// The feature pixels of a face in registers.
struct PoolVectors {
  ByteVector part[SplitBytes::kMaxPool / 64];

  explicit PoolVectors(const std::uint8_t* pool) {
    for (std::size_t i = 0; i < std::size(part); ++i) part[i] = hn::Load(Bytes(), pool + 64 * i);
  }

  /// The pixels at these indices, the ninth bit of which is in `far`.
  HWY_INLINE ByteVector at(ByteVector index, ByteMask far) const {
    const auto among = [&](int i) {  // 128 of them, by seven bits
      return ByteVector{_mm512_permutex2var_epi8(part[i].raw, index.raw, part[i + 1].raw)};
    };
    const auto upper = hn::MaskFromVec(index);
    return hn::IfThenElse(far, hn::IfThenElse(upper, among(6), among(4)),
                          hn::IfThenElse(upper, among(2), among(0)));
  }
};

/// SplitBytes::kTrees splits.
struct ByteSplits {
  ByteVector a, b, threshold, flags;
};

HWY_INLINE ByteSplits select(ByteMask mask, const ByteSplits& yes, const ByteSplits& no) {
  return {hn::IfThenElse(mask, yes.a, no.a), hn::IfThenElse(mask, yes.b, no.b),
          hn::IfThenElse(mask, yes.threshold, no.threshold),
          hn::IfThenElse(mask, yes.flags, no.flags)};
}

HWY_INLINE ByteMask goes_left(const ByteSplits& split, const PoolVectors& pool) {
  const Bytes d;
  const auto a = pool.at(split.a, hn::TestBit(split.flags, hn::Set(d, SplitBytes::kFarA)));
  const auto b = pool.at(split.b, hn::TestBit(split.flags, hn::Set(d, SplitBytes::kFarB)));
  return hn::Xor(hn::Gt(hn::SaturatedSub(a, b), split.threshold),
                 hn::TestBit(split.flags, hn::Set(d, SplitBytes::kOther)));
}

template <int levels>
HWY_INLINE ByteSplits split_below(const std::uint8_t* splits, std::size_t node,
                                  const ByteMask* left) {
  if constexpr (levels == 0) {
    const Bytes d;
    const std::uint8_t* const at = splits + node * SplitBytes::kSize;
    return {hn::Load(d, at + SplitBytes::kA), hn::Load(d, at + SplitBytes::kB),
            hn::Load(d, at + SplitBytes::kThreshold), hn::Load(d, at + SplitBytes::kFlags)};
  } else {
    return select(left[0], split_below<levels - 1>(splits, 2 * node + 1, left + 1),
                  split_below<levels - 1>(splits, 2 * node + 2, left + 1));
  }
}

template <int depth, int level = 0>
HWY_INLINE ByteVector walk_from(const std::uint8_t* splits, const PoolVectors& pool,
                                ByteMask* left) {
  const Bytes d;
  if constexpr (level == depth) {
    return hn::Zero(d);
  } else {
    left[level] = goes_left(split_below<level>(splits, 0, left), pool);
    const auto right = hn::IfThenZeroElse(left[level], hn::Set(d, 1 << (depth - 1 - level)));
    return hn::Or(right, walk_from<depth, level + 1>(splits, pool, left));
  }
}

/// walk_trees() of SplitBytes.
template <int depth>
void walk_bytes(const std::uint8_t* splits, const std::uint8_t* pool, std::size_t trees,
                std::int32_t* out) {
  constexpr std::size_t kNodes = (std::size_t{1} << depth) - 1;
  const Ints i;
  const hn::Rebind<std::uint8_t, Ints> some_bytes;
  const PoolVectors vectors(pool);
  for (std::size_t t = 0; t < trees; splits += kNodes * SplitBytes::kSize) {
    ByteMask left[static_cast<std::size_t>(depth)];
    HWY_ALIGN std::uint8_t leaf[SplitBytes::kTrees];
    hn::Store(walk_from<depth>(splits, vectors, left), Bytes(), leaf);
    const std::size_t end = std::min<std::size_t>(trees, t + SplitBytes::kTrees);
    for (std::size_t k = 0; t < end; t += hn::Lanes(i), k += hn::Lanes(i)) {
      const auto tree = hn::Iota(i, static_cast<std::int32_t>(t));
      hn::Store(
          hn::Add(hn::ShiftLeft<depth>(tree), hn::PromoteTo(i, hn::Load(some_bytes, leaf + k))), i,
          out + t);
    }
  }
}

using WalkBytes = void (*)(const std::uint8_t*, const std::uint8_t*, std::size_t, std::int32_t*);
constexpr WalkBytes kWalkBytes[VectorForest::kMaxDepth] = {
    walk_bytes<1>, walk_bytes<2>, walk_bytes<3>, walk_bytes<4>, walk_bytes<5>};

}  // namespace cuface::forest::HWY_NAMESPACE
HWY_POP_ATTRIBUTES
#endif

HWY_BEFORE_NAMESPACE();
namespace cuface::forest::HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

/// Finds the leaf of every tree of a stage, counted through it. `wide` is for gathers.
HWY_INLINE void find_leaves(const VectorForest& forest, int stage, int depth, std::size_t trees,
                            const std::uint8_t* pool, std::int32_t* wide, std::int32_t* out) {
#if HWY_TARGET == HWY_AVX3
  const std::uint8_t* const split_bytes = forest.split_bytes(stage);
  if (split_bytes != nullptr && simd::byte_permutes()) {
    return kWalkBytes[depth - 1](split_bytes, pool, trees, out);
  }
#endif
  const Ints i;
  const hn::Rebind<std::uint8_t, Ints> some_bytes;
  for (std::size_t k = 0; k < forest.pool_row(); k += hn::Lanes(i)) {
    hn::Store(hn::PromoteTo(i, hn::Load(some_bytes, pool + k)), i, wide + k);
  }
  kWalkTrees[depth - 1](forest.splits(stage), forest.split_row(), wide, trees, out);
}

#endif
}  // namespace cuface::forest::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
