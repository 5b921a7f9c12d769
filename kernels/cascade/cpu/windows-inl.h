// Vectors of windows and how their sums are read, for vector code; to be included for each target.
#if defined(CUFACE_CASCADE_VECTOR_WINDOWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CUFACE_CASCADE_VECTOR_WINDOWS_INL_H
#undef CUFACE_CASCADE_VECTOR_WINDOWS_INL_H
#else
#define CUFACE_CASCADE_VECTOR_WINDOWS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cascade/cpu/search.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

// Windows go through the stages a vector of words at a time, or two together. A rectangle's sum
// nearly always fits 16 bits, and then both are one vector.
using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;
using Pairs = hn::Repartition<std::int16_t, Ints>;
using Shorts = hn::Half<Pairs>;
using VF = hn::Vec<Floats>;
using VI = hn::Vec<Ints>;
using Bits = std::uint32_t;  // one for each lane of two vectors

constexpr std::size_t kLanes = hn::MaxLanes(Floats());
constexpr Bits kAllLanes = (Bits{1} << kLanes) - 1;

// Where windows lie. `load` gives the lower halves of the sums at a corner of one or two vectors of
// windows, `load_words` the sums of one. Neighbours:
struct SideBySide {
  static constexpr bool kHasShorts = true;
  const std::int32_t* first;
  const std::int16_t* first_short;
  SideBySide from(std::size_t window) const { return {first + window, first_short + window}; }
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, std::int32_t corner) const {
    return hn::LoadU(d, first_short + corner);
  }
  HWY_INLINE VI load_words(std::size_t part, std::int32_t corner) const {
    return hn::LoadU(Ints(), first + part * kLanes + corner);
  }
  const std::uint32_t* window(int lane) const {
    return reinterpret_cast<const std::uint32_t*>(first + lane);
  }
};

// Anywhere:
struct Scattered {
  static constexpr bool kHasShorts = false;
  const std::int32_t* plane;
  const std::int32_t* offset;
  HWY_INLINE VI load_words(std::size_t part, std::int32_t corner) const {
    return hn::GatherIndex(Ints(), plane + corner, hn::LoadU(Ints(), offset + part * kLanes));
  }
  const std::uint32_t* window(int lane) const {
    return reinterpret_cast<const std::uint32_t*>(plane + offset[lane]);
  }
};

// Anywhere, and the lower halves copied:
struct Packed : Scattered {
  static constexpr bool kHasShorts = true;
  const std::int16_t* copy;
  Packed from(std::size_t window) const { return {{plane, offset + window}, copy + window}; }
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, std::int32_t corner) const {
    return hn::Load(d, copy + corner);
  }
};

// Eight words of every eighth window.
template <class D>
HWY_INLINE hn::Vec<D> load_eights(D d, const std::int16_t* words, const std::int32_t* offset) {
  if constexpr (hn::MaxLanes(D()) > 8) {
    const hn::Half<D> half;
    return hn::Combine(d, load_eights(half, words, offset + hn::MaxLanes(half)),
                       load_eights(half, words, offset));
  } else {
    return hn::LoadU(d, words + *offset);
  }
}

// In blocks of eight lanes: a[0], b[0], a[1], b[1], and so on.
template <class V>
HWY_INLINE void interleave(V a, V b, V& low, V& high) {
  const hn::DFromV<V> d;
  low = hn::InterleaveLower(d, a, b);
  high = hn::InterleaveUpper(d, a, b);
}

// Of eight words of four windows: two words of all, then the next two.
template <class V>
HWY_INLINE void interleave4(V a, V b, V c, V d, V (&out)[4]) {
  V ac[2], bd[2];
  interleave(a, c, ac[0], ac[1]);
  interleave(b, d, bd[0], bd[1]);
  interleave(ac[0], bd[0], out[0], out[1]);
  interleave(ac[1], bd[1], out[2], out[3]);
}

// The next word of a copy is so far on.
constexpr std::size_t kCopyStride = 2 * kLanes;

// Copies eight words of a vector of windows, or the first four.
template <class D>
HWY_INLINE void pack_words(D d, const std::int16_t* words, const std::int32_t* offset, int count,
                           std::int16_t* out) {
  using V = hn::Vec<D>;
  const auto at = [&](int window) HWY_ATTR { return load_eights(d, words, offset + window); };
  V even[4], odd[4];
  interleave4(at(0), at(2), at(4), at(6), even);
  interleave4(at(1), at(3), at(5), at(7), odd);
  const auto store = [&](std::size_t k) HWY_ATTR {
    V first, second;
    interleave(even[k], odd[k], first, second);
    hn::Store(first, d, out + 2 * k * kCopyStride);
    hn::Store(second, d, out + (2 * k + 1) * kCopyStride);
  };
  store(0);
  store(1);
  if (count == 4) return;
  store(2);
  store(3);
}

// Copies one or two vectors of windows, which begin at `offset` in a plane of columns in order.
// Both at once: then lines of the copy are written whole, while they are in the nearest cache.
inline void pack(const PackedLayout& layout, const std::int16_t* plane, const std::int32_t* offset,
                 bool two, std::int16_t* out) {
  const std::conditional_t<(kLanes < 8), Pairs, Shorts> d;
  constexpr std::size_t kAtOnce = hn::MaxLanes(d);
  for (int y = 0; y < layout.rows; ++y, plane += layout.stride) {
    for (int x = 0; x < layout.row_words; x += 8) {
      const int count = std::min(layout.row_words - x, 8);
      pack_words(d, plane + x, offset, count, out);
      if (kAtOnce == kLanes && two) pack_words(d, plane + x, offset + kLanes, count, out + kLanes);
      out += static_cast<std::size_t>(count) * kCopyStride;
    }
  }
}

#endif
}  // namespace cuface::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
