// Vectors of windows through the stages, for vector code; to be included for each target.
#if defined(CUFACE_CASCADE_VECTOR_STAGES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUFACE_CASCADE_VECTOR_STAGES_INL_H
#undef CUFACE_CASCADE_VECTOR_STAGES_INL_H
#else
#define CUFACE_CASCADE_VECTOR_STAGES_INL_H
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/cascade/cpu/search.h"
#include "kernels/cascade/cpu/windows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

template <class D, class M>
HWY_INLINE Bits bits_of(D d, M mask) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  Bits bits;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

// The sum of a rectangle from four corners.
template <class Load>
HWY_INLINE auto rect_sum(const Load& load, const std::int32_t* c) {
  return hn::Add(hn::Sub(hn::Sub(load(c[0]), load(c[1])), load(c[2])), load(c[3]));
}

// The value of a node that has one of the shapes.
template <class Load>
HWY_INLINE auto corner_sum(const Load& load, const VectorNode& node) {
  const std::int32_t* c = node.corner;
  const auto once = hn::Sub(hn::Add(load(c[0]), load(c[1])), hn::Add(load(c[2]), load(c[3])));
  if (node.shape == NodeShape::kEdge) {
    const auto inner = hn::Sub(load(c[4]), load(c[5]));
    return hn::Add(once, hn::Add(inner, inner));
  }
  const auto inner = hn::Sub(hn::Add(load(c[4]), load(c[5])), hn::Add(load(c[6]), load(c[7])));
  const auto twice = hn::Add(once, hn::Add(inner, inner));
  return node.shape == NodeShape::kLine3 ? hn::Add(twice, inner) : twice;
}

// The weighted sums of a node's rectangles; rect(i) is the sum of one.
template <class Rect>
HWY_INLINE VF general_value(const Rect& rect, const VectorNode& node) {
  const Floats f;
  const auto weighted = [&](int i) { return hn::Mul(hn::Set(f, node.weight[i]), rect(i)); };
  const VF value = hn::Add(weighted(0), weighted(1));
  return node.weight[2] != 0.0f ? hn::Add(value, weighted(2)) : value;
}

template <class Windows>
HWY_INLINE VF word_value(const Windows& windows, std::size_t part, const VectorNode& node) {
  const auto load = [&](std::int32_t corner) { return windows.load_words(part, corner); };
  if (node.shape != NodeShape::kGeneral) return hn::ConvertTo(Floats(), corner_sum(load, node));
  return general_value(
      [&](int i) { return hn::ConvertTo(Floats(), rect_sum(load, node.corner + 4 * i)); }, node);
}

template <std::size_t kPart, std::size_t kParts, class V>
HWY_INLINE VF floats_of(V v) {
  const hn::Half<hn::DFromV<V>> half;
  if constexpr (kParts == 1) {
    return hn::ConvertTo(Floats(), hn::PromoteTo(Ints(), v));
  } else if constexpr (kPart == 0) {
    return hn::ConvertTo(Floats(), hn::PromoteTo(Ints(), hn::LowerHalf(half, v)));
  } else {
    return hn::ConvertTo(Floats(), hn::PromoteTo(Ints(), hn::UpperHalf(half, v)));
  }
}

template <std::size_t kParts, class Windows>
HWY_INLINE void short_values(const Windows& windows, const VectorNode& node, VF (&out)[kParts]) {
  const std::conditional_t<kParts == 1, Shorts, Pairs> d;
  const auto load = [&](std::int32_t corner) { return windows.load(d, corner); };
  if (node.shape != NodeShape::kGeneral) {
    const auto sum = corner_sum(load, node);
    out[0] = floats_of<0, kParts>(sum);
    if constexpr (kParts == 2) out[1] = floats_of<1, kParts>(sum);
    return;
  }
  const hn::RebindToUnsigned<decltype(d)> u;
  hn::Vec<decltype(u)> sum[3];
  for (int i = 0; i < (node.weight[2] != 0.0f ? 3 : 2); ++i) {
    sum[i] = hn::BitCast(u, rect_sum(load, node.corner + 4 * i));
  }
  out[0] = general_value([&](int i) { return floats_of<0, kParts>(sum[i]); }, node);
  if constexpr (kParts == 2) {
    out[1] = general_value([&](int i) { return floats_of<1, kParts>(sum[i]); }, node);
  }
}

template <std::size_t kParts, class Windows>
HWY_INLINE void node_values(const Windows& windows, const VectorNode& node, VF (&out)[kParts]) {
  if constexpr (Windows::kHasShorts) {
    if (HWY_LIKELY(node.is_short)) return short_values(windows, node, out);
  }
  out[0] = word_value(windows, 0, node);
  if constexpr (kParts == 2) out[1] = word_value(windows, 1, node);
}

// The windows for which the node's value is below its threshold.
template <std::size_t kParts, class Windows>
HWY_INLINE void goes_left(const Windows& windows, const VectorNode& node, const VF (&norm)[kParts],
                          hn::Mask<Ints> (&out)[kParts]) {
  VF value[kParts];
  node_values(windows, node, value);
  const VF threshold = hn::Set(Floats(), node.threshold);
  for (std::size_t p = 0; p < kParts; ++p) {
    out[p] = hn::RebindMask(Ints(), hn::Lt(hn::Mul(value[p], norm[p]), threshold));
  }
}

// Adds the leaves that a tree's windows reach to `sum`.
template <std::size_t kParts, class Windows>
HWY_INLINE void add_tree(const Windows& windows, const VectorNode* nodes, int count,
                         const VF (&norm)[kParts], std::int32_t* values, VI (&sum)[kParts]) {
  const Ints d;
  // Children come behind their parents: backwards, every child is there when it is needed.
  for (int n = count - 1; n >= 0; --n) {
    const VectorNode& node = nodes[n];
    hn::Mask<Ints> left[kParts];
    goes_left(windows, node, norm, left);
    for (std::size_t p = 0; p < kParts; ++p) {
      const auto value_at = [&](int i) {
        return values + (static_cast<std::size_t>(i) * kParts + p) * kLanes;
      };
      const auto side = [&](int child, std::int32_t leaf) {
        return child > 0 ? hn::LoadU(d, value_at(child)) : hn::Set(d, leaf);
      };
      const VI value = hn::IfThenElse(left[p], side(node.left, node.left_leaf),
                                      side(node.right, node.right_leaf));
      if (n > 0)
        hn::StoreU(value, d, value_at(n));
      else
        sum[p] = hn::Add(sum[p], value);
    }
  }
}

// sum + v where the mask is true. With mask registers that is one operation.
HWY_INLINE VI add_where(hn::Mask<Ints> mask, VI sum, VI v) {
#if HWY_TARGET <= HWY_AVX3
  return hn::IfThenElse(mask, hn::Add(sum, v), sum);
#else
  return hn::Add(sum, hn::IfThenElseZero(mask, v));
#endif
}

// Those of the windows `asked` that pass the stage.
template <std::size_t kParts, class Windows>
HWY_INLINE Bits passing(VectorSearch& search, const std::vector<VectorStage>& stages,
                        std::size_t at, const Windows& windows, const VF (&norm)[kParts],
                        Bits asked) {
  const Ints d;
  const VectorStage& stage = stages[at];
  VI sum[kParts];
  for (VI& s : sum) s = hn::Set(d, stage.base);
  const VectorNode* node = stage.nodes;
  if (stage.tree_nodes == nullptr) {
    for (const VectorNode* end = node + stage.tree_count; node != end; ++node) {
      hn::Mask<Ints> left[kParts];
      goes_left(windows, *node, norm, left);
      for (std::size_t p = 0; p < kParts; ++p) {
        sum[p] = add_where(left[p], sum[p], hn::Set(d, node->left_leaf));
      }
    }
  } else {
    std::int32_t* values = search.node_values().data();
    for (int t = 0; t < stage.tree_count; ++t) {
      add_tree(windows, node, stage.tree_nodes[t], norm, values, sum);
      node += stage.tree_nodes[t];
    }
  }
  Bits fail = 0, pass = 0;
  for (std::size_t p = 0; p < kParts; ++p) {
    fail |= bits_of(d, hn::Lt(sum[p], hn::Set(d, stage.fails))) << p * kLanes;
    pass |= bits_of(d, hn::Gt(sum[p], hn::Set(d, stage.passes - 1))) << p * kLanes;
  }
  Bits passed = asked & pass;
  for (Bits unsure = asked & ~fail & ~pass; HWY_UNLIKELY(unsure != 0); unsure &= unsure - 1) {
    const int lane = std::countr_zero(unsure);
    alignas(64) float norms[kParts * kLanes];
    for (std::size_t p = 0; p < kParts; ++p) hn::Store(norm[p], Floats(), norms + p * kLanes);
    if (search.cascade().failed_stage(windows.window(lane), norms[lane], at) > at) {
      passed |= Bits{1} << lane;
    }
  }
  return passed;
}

#endif
}  // namespace cuface::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
