// The search of a level's rows, compiled for each instruction set.
#include "kernels/cascade/vector_search.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cascade/vector_search.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cuface::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;
using VF = hn::Vec<Floats>;
using VI = hn::Vec<Ints>;
using Bits = std::uint32_t;  // one for each lane

constexpr std::size_t kLanes = hn::MaxLanes(Floats());
constexpr Bits kAllLanes = kLanes == 32 ? ~Bits{0} : (Bits{1} << kLanes) - 1;
// As long as more windows of a vector are left they stay together: where waiting windows are
// copied, where they are not, and copies.
constexpr int kFewWindows = kLanes / 4, kFewWindowsScattered = kLanes / 8;
constexpr int kFewPacked = kLanes * 3 / 16;
// As few waiting windows are taken one by one where they are not copied.
constexpr std::size_t kFewWaiting = kLanes < 8 ? 1 : 2;

template <class D, class M>
HWY_INLINE Bits bits_of(D d, M mask) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  Bits bits;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

// Where the windows of a vector lie. Neighbours:
struct SideBySide {
  const std::int32_t* first;
  HWY_INLINE VI load(std::int32_t corner) const { return hn::LoadU(Ints(), first + corner); }
  const std::uint32_t* window(int lane) const {
    return reinterpret_cast<const std::uint32_t*>(first + lane);
  }
};

// Anywhere:
struct Waiting {
  const std::int32_t* plane;
  const std::int32_t* offset;
  const std::uint32_t* window(int lane) const {
    return reinterpret_cast<const std::uint32_t*>(plane + offset[lane]);
  }
};
struct Scattered : Waiting {
  VI offsets;
  HWY_INLINE VI load(std::int32_t corner) const {
    return hn::GatherIndex(Ints(), plane + corner, offsets);
  }
};
struct Packed : Waiting {
  const std::int32_t* copy;
  HWY_INLINE VI load(std::int32_t corner) const { return hn::Load(Ints(), copy + corner); }
};

// Four words of every fourth window.
template <class D>
HWY_INLINE hn::Vec<D> load_fours(D d, const std::int32_t* plane, const std::int32_t* offset) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return hn::LoadU(d, plane + offset[0]);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_fours(half, plane, offset + hn::MaxLanes(d) / 2),
                       load_fours(half, plane, offset));
  }
}

// Copies the windows at `offset` of a vector.
inline void pack(const PackedLayout& layout, const std::int32_t* plane, const std::int32_t* offset,
                 std::int32_t* out) {
  const Ints d;
  for (int y = 0; y < layout.rows; ++y, plane += layout.stride) {
    for (int r = 0; r < layout.run_count; ++r) {
      const std::int32_t* from = plane + layout.run[r].from;
      for (int g = 0; g < layout.run[r].groups; ++g, from += 4, out += 4 * kLanes) {
        const VI a = load_fours(d, from, offset), b = load_fours(d, from, offset + 1);
        const VI c = load_fours(d, from, offset + 2), e = load_fours(d, from, offset + 3);
        const VI low_ac = hn::InterleaveLower(d, a, c), high_ac = hn::InterleaveUpper(d, a, c);
        const VI low_be = hn::InterleaveLower(d, b, e), high_be = hn::InterleaveUpper(d, b, e);
        hn::Store(hn::InterleaveLower(d, low_ac, low_be), d, out);
        hn::Store(hn::InterleaveUpper(d, low_ac, low_be), d, out + kLanes);
        hn::Store(hn::InterleaveLower(d, high_ac, high_be), d, out + 2 * kLanes);
        hn::Store(hn::InterleaveUpper(d, high_ac, high_be), d, out + 3 * kLanes);
      }
    }
  }
}

template <class Windows>
HWY_INLINE VF rect_sum(const Windows& windows, const std::int32_t* c) {
  const VI sum =
      hn::Add(hn::Sub(hn::Sub(windows.load(c[0]), windows.load(c[1])), windows.load(c[2])),
              windows.load(c[3]));
  return hn::ConvertTo(Floats(), sum);
}

template <class Windows>
HWY_INLINE VF general_value(const Windows& windows, const VectorNode& node) {
  const Floats f;
  VF value = hn::Add(hn::Mul(hn::Set(f, node.weight[0]), rect_sum(windows, node.corner)),
                     hn::Mul(hn::Set(f, node.weight[1]), rect_sum(windows, node.corner + 4)));
  if (node.weight[2] != 0.0f) {
    value = hn::Add(value, hn::Mul(hn::Set(f, node.weight[2]), rect_sum(windows, node.corner + 8)));
  }
  return value;
}

template <class Windows>
HWY_INLINE VF node_value(const Windows& windows, const VectorNode& node) {
  if (node.shape == NodeShape::kGeneral) return general_value(windows, node);
  const std::int32_t* c = node.corner;
  const VI once = hn::Sub(hn::Add(windows.load(c[0]), windows.load(c[1])),
                          hn::Add(windows.load(c[2]), windows.load(c[3])));
  if (node.shape == NodeShape::kEdge) {
    const VI inner = hn::Sub(windows.load(c[4]), windows.load(c[5]));
    return hn::ConvertTo(Floats(), hn::Add(once, hn::Add(inner, inner)));
  }
  const VI inner = hn::Sub(hn::Add(windows.load(c[4]), windows.load(c[5])),
                           hn::Add(windows.load(c[6]), windows.load(c[7])));
  const VI twice = hn::Add(once, hn::Add(inner, inner));
  return hn::ConvertTo(Floats(), node.shape == NodeShape::kLine3 ? hn::Add(twice, inner) : twice);
}

// The windows for which the node's value is below its threshold.
template <class Windows>
HWY_INLINE auto goes_left(const Windows& windows, const VectorNode& node, VF norm) {
  const VF value = hn::Mul(node_value(windows, node), norm);
  return hn::RebindMask(Ints(), hn::Lt(value, hn::Set(Floats(), node.threshold)));
}

template <class Windows>
HWY_INLINE VI tree_values(const Windows& windows, const VectorNode* nodes, int count, VF norm,
                          std::int32_t* values) {
  const Ints d;
  VI value = hn::Zero(d);
  // Children come behind their parents: backwards, every child is there when it is needed.
  for (int n = count - 1; n >= 0; --n) {
    const VectorNode& node = nodes[n];
    const auto side = [&](int child, std::int32_t leaf) {
      return child > 0 ? hn::LoadU(d, values + static_cast<std::size_t>(child) * kLanes)
                       : hn::Set(d, leaf);
    };
    value = hn::IfThenElse(goes_left(windows, node, norm), side(node.left, node.left_leaf),
                           side(node.right, node.right_leaf));
    if (n > 0) hn::StoreU(value, d, values + static_cast<std::size_t>(n) * kLanes);
  }
  return value;
}

// Those of the windows `asked` that pass the stage.
template <class Windows>
HWY_INLINE Bits passing(VectorSearch& search, const std::vector<VectorStage>& stages,
                        std::size_t at, const Windows& windows, VF norm, Bits asked) {
  const Ints d;
  const VectorStage& stage = stages[at];
  VI sum = hn::Set(d, stage.base);
  const VectorNode* node = stage.nodes;
  if (stage.tree_nodes == nullptr) {
    for (const VectorNode* end = node + stage.tree_count; node != end; ++node) {
      sum = hn::Add(
          sum, hn::IfThenElseZero(goes_left(windows, *node, norm), hn::Set(d, node->left_leaf)));
    }
  } else {
    std::int32_t* values = search.node_values().data();
    for (int t = 0; t < stage.tree_count; ++t) {
      sum = hn::Add(sum, tree_values(windows, node, stage.tree_nodes[t], norm, values));
      node += stage.tree_nodes[t];
    }
  }
  const Bits fail = bits_of(d, hn::Lt(sum, hn::Set(d, stage.fails)));
  const Bits pass = bits_of(d, hn::Gt(sum, hn::Set(d, stage.passes - 1)));
  Bits passed = asked & pass;
  for (Bits unsure = asked & ~fail & ~pass; HWY_UNLIKELY(unsure != 0); unsure &= unsure - 1) {
    const int lane = std::countr_zero(unsure);
    alignas(64) float norms[kLanes];
    hn::Store(norm, Floats(), norms);
    if (search.cascade().failed_stage(windows.window(lane), norms[lane], at) > at) {
      passed |= Bits{1} << lane;
    }
  }
  return passed;
}

inline void take_waiting(VectorSearch& search, const std::int32_t* plane, std::size_t stage);

// Puts the windows `passed` of a vector on the list of a stage, or of those found behind the last.
inline void put(VectorSearch& search, const std::int32_t* plane, std::size_t stage, VI offsets,
                VF norm, Bits passed) {
  if (passed == 0) return;
  if (stage == search.stages().size()) {
    alignas(64) std::int32_t lanes[kLanes];
    hn::Store(offsets, Ints(), lanes);
    for (; passed != 0; passed &= passed - 1) {
      search.found().push_back(lanes[std::countr_zero(passed)]);
    }
    return;
  }
  WaitingWindows& list = search.waiting(stage);
  if (list.count + kLanes > WaitingWindows::kCapacity) take_waiting(search, plane, stage);
  std::uint8_t bytes[8] = {};
  std::memcpy(bytes, &passed, sizeof passed);
  hn::CompressBitsStore(offsets, bytes, Ints(), list.offset.data() + list.count);
  hn::CompressBitsStore(norm, bytes, Floats(), list.norm.data() + list.count);
  list.count += static_cast<std::size_t>(std::popcount(passed));
}

// Takes some windows that wait for a stage through it.
inline void take_scattered(VectorSearch& search, const std::int32_t* plane, std::size_t stage,
                           const std::int32_t* offset, VF norm, Bits asked) {
  const VI offsets = hn::LoadU(Ints(), offset);
  const Scattered windows{{plane, offset}, offsets};
  put(search, plane, stage + 1, offsets, norm,
      passing(search, search.stages(), stage, windows, norm, asked));
}

// The same with copies, and on while they pay.
inline void take_packed(VectorSearch& search, const std::int32_t* plane, std::size_t stage,
                        const std::int32_t* offset, VF norm, Bits asked) {
  const std::vector<VectorStage>& stages = search.packed_stages(kLanes);
  pack(search.packed_layout(), plane, offset, search.packed());
  const Packed windows{{plane, offset}, search.packed()};
  do {
    asked = passing(search, stages, stage++, windows, norm, asked);
  } while (stage < stages.size() && std::popcount(asked) > kFewPacked);
  put(search, plane, stage, hn::LoadU(Ints(), offset), norm, asked);
}

// Takes all windows that wait for a stage through it.
inline void take_waiting(VectorSearch& search, const std::int32_t* plane, std::size_t stage) {
  WaitingWindows& list = search.waiting(stage);
  const bool packs = search.packed_layout().packs();
  const std::size_t few = packs ? 0 : kFewWaiting, count = list.count;
  list.count = 0;
  std::size_t i = 0;
  for (; i + few < count; i += kLanes) {
    const std::size_t left = count - i;
    const Bits asked = left < kLanes ? (Bits{1} << left) - 1 : kAllLanes;
    std::int32_t* const offset = list.offset.data() + i;
    for (std::size_t k = left; k < kLanes; ++k) offset[k] = offset[0];
    const VF norm = hn::LoadU(Floats(), list.norm.data() + i);
    (packs ? take_packed : take_scattered)(search, plane, stage, offset, norm, asked);
  }
  const std::uint32_t* sums = reinterpret_cast<const std::uint32_t*>(plane);
  for (; i < count; ++i) {
    if (search.cascade().failed_stage(sums + list.offset[i], list.norm[i], stage) ==
        search.stages().size()) {
      search.found().push_back(list.offset[i]);
    }
  }
}

// What the norms of a row's windows are made of: corners of the window less a border of one pixel.
struct NormCorners {
  double area;
  std::int32_t corner[4];

  explicit NormCorners(const BoundCascade& cascade) {
    const int w = cascade.model().window_width, h = cascade.model().window_height;
    const SumLayout& layout = cascade.layout();
    area = (w - 2) * (h - 2);
    corner[0] = static_cast<std::int32_t>(layout.offset(1, 1));
    corner[1] = static_cast<std::int32_t>(layout.offset(w - 1, 1));
    corner[2] = static_cast<std::int32_t>(layout.offset(1, h - 1));
    corner[3] = static_cast<std::int32_t>(layout.offset(w - 1, h - 1));
  }
};

template <class Plane>
HWY_INLINE VI inner_sum(const NormCorners& n, const Plane& plane) {
  return hn::Add(
      hn::Sub(hn::Sub(plane.load(n.corner[0]), plane.load(n.corner[1])), plane.load(n.corner[2])),
      plane.load(n.corner[3]));
}

// inverse_norm() for half a vector.
template <class V>
HWY_INLINE auto inverse_norms(double area, V sum, V squares) {
  const hn::RebindToFloat<hn::DFromV<V>> half;
  const hn::Rebind<double, decltype(half)> d;
  const hn::DFromV<V> i;
  const auto s = hn::PromoteTo(d, sum);
  const hn::RebindToUnsigned<hn::DFromV<V>> u;
  const auto high = hn::PromoteTo(d, hn::BitCast(i, hn::ShiftRight<16>(hn::BitCast(u, squares))));
  const auto low = hn::PromoteTo(d, hn::And(squares, hn::Set(i, 0xffff)));
  const auto q = hn::Add(hn::Mul(high, hn::Set(d, 65536.0)), low);
  const auto a = hn::Set(d, area);
  const auto nf = hn::Sub(hn::Mul(a, q), hn::Mul(s, s));
  const auto v = hn::DemoteTo(half, hn::Div(hn::Set(d, 1.0), hn::Sqrt(nf)));
  const auto wide = hn::PromoteTo(d, v);
  const auto usable = hn::And(hn::Gt(nf, hn::Zero(d)), hn::Lt(hn::Mul(a, wide), hn::Set(d, 0.1)));
  return hn::DemoteTo(half, hn::IfThenElseZero(usable, wide));
}

HWY_INLINE VF row_norms(const NormCorners& n, const SideBySide& sum, const SideBySide& squared) {
  const hn::Half<Ints> half;
  const VI s = inner_sum(n, sum), q = inner_sum(n, squared);
  return hn::Combine(Floats(),
                     inverse_norms(n.area, hn::UpperHalf(half, s), hn::UpperHalf(half, q)),
                     inverse_norms(n.area, hn::LowerHalf(half, s), hn::LowerHalf(half, q)));
}

inline Bits bits_at(const std::vector<std::uint64_t>& words, std::size_t i) {
  return static_cast<Bits>(words[i / 64] >> (i % 64)) & kAllLanes;
}

// The first stage of a row of windows, those of `active` or all: leaves in alive() a bit for each
// window that passes it.
inline void first_stage(VectorSearch& search, const NormCorners& corners, const std::int32_t* sum,
                        const std::int32_t* squared, std::size_t count,
                        const std::uint64_t* active) {
  std::vector<std::uint64_t>&failed = search.failed(), &alive = search.alive();
  const std::size_t words = (count + 63) / 64;
  std::fill_n(failed.begin(), words, 0);
  std::fill_n(alive.begin(), words, 0);
  for (std::size_t i = 0; i < count; i += kLanes) {
    Bits there = count - i < kLanes ? (Bits{1} << (count - i)) - 1 : kAllLanes;
    if (active) there &= static_cast<Bits>(active[i / 64] >> (i % 64));
    if (there == 0) continue;
    const SideBySide windows{sum + i};
    const VF norm = row_norms(corners, windows, {squared + i});
    hn::StoreU(norm, Floats(), search.row_norm().data() + i);
    const Bits asked = there & bits_of(Floats(), hn::Gt(norm, hn::Zero(Floats())));
    const Bits passed = asked == 0 ? 0 : passing(search, search.stages(), 0, windows, norm, asked);
    alive[i / 64] |= std::uint64_t{passed} << (i % 64);
    failed[i / 64] |= std::uint64_t{asked & ~passed} << (i % 64);
  }
  bool carry = false;
  for (std::size_t w = 0; w < words; ++w) alive[w] &= ~skipped_windows(failed[w], carry);
}

void search_rows(VectorSearch& search, const LevelSums& sums, const SearchGrid& grid,
                 const WindowMask& mask) {
  const NormCorners corners(search.cascade());
  const int stride = search.cascade().layout().stride;
  const std::size_t count = static_cast<std::size_t>((grid.columns + grid.step - 1) / grid.step);
  const std::size_t stages = search.stages().size();
  const int few = search.packed_layout().packs() ? kFewWindows : kFewWindowsScattered;
  const std::int32_t* plane = reinterpret_cast<const std::int32_t*>(sums.sum);
  for (int y = 0; y < grid.rows; y += grid.step) {
    const std::int32_t start = y * stride;
    first_stage(search, corners, plane + start,
                reinterpret_cast<const std::int32_t*>(sums.squared) + start, count,
                mask.row(y / grid.step));
    for (std::size_t i = 0; i < count; i += kLanes) {
      Bits alive = bits_at(search.alive(), i);
      if (alive == 0) continue;
      const SideBySide windows{plane + start + i};
      const VF norm = hn::LoadU(Floats(), search.row_norm().data() + i);
      std::size_t stage = 1;
      while (stage < stages && std::popcount(alive) > few) {
        alive = passing(search, search.stages(), stage++, windows, norm, alive);
      }
      put(search, plane, stage, hn::Iota(Ints(), start + static_cast<std::int32_t>(i)), norm,
          alive);
    }
  }
  for (std::size_t stage = 1; stage < stages; ++stage) take_waiting(search, plane, stage);
}

}  // namespace cuface::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface {

HWY_EXPORT(search_rows);

bool VectorSearch::run(const LevelSums& sums, const SearchGrid& grid, int level, std::size_t limit,
                       std::vector<RawWindow>& out, const WindowMask& mask) {
  found_.clear();
  if (grid.columns > 0 && grid.rows > 0) HWY_DYNAMIC_DISPATCH(search_rows)(*this, sums, grid, mask);
  // Offsets grow with y, and in a row of the windows' columns with x.
  std::sort(found_.begin(), found_.end());
  const SumLayout& layout = cascade_.layout();
  for (const std::int32_t offset : found_) {
    if (out.size() >= limit) return false;
    out.push_back({level, offset % layout.stride * layout.step, offset / layout.stride});
  }
  return true;
}

}  // namespace cuface
#endif
