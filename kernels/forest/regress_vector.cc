#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/forest/regress_vector.cc"
#include "kernels/forest/regress_vector.h"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace cuface::forest::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void regress(const ForestModel&, const VectorForest&, int, std::span<const Point>,
             std::span<const PixelReader>, VectorScratch&) {}
#else

namespace hn = hwy::HWY_NAMESPACE;

using Ints = hn::ScalableTag<std::int32_t>;
using IntVector = hn::Vec<Ints>;
using IntMask = hn::Mask<Ints>;
using Floats = hn::ScalableTag<float>;
using Doubles = hn::Repartition<double, Floats>;

// Leaves are fetched this many trees ahead of the sum, and summed this many at a time, which spares
// loads and stores of the shape.
constexpr std::size_t kPrefetchTrees = 8, kTreesAtOnce = 8;
constexpr std::size_t kCacheLine = 64;

/// Where feature pixels lie along one axis: in whole pixels, -1 outside the picture.
HWY_INLINE IntVector pixel_along(hn::Vec<Floats> px, hn::Vec<Floats> py, double from_x,
                                 double from_y, double offset, int limit) {
  const Doubles d;
  const Ints i;
  const hn::Half<Floats> half;
  const hn::Half<Ints> half_ints;
  const auto along = [&](auto x, auto y) {
    const auto sum = hn::Add(hn::Mul(hn::Set(d, from_x), hn::PromoteTo(d, x)),
                             hn::Mul(hn::Set(d, from_y), hn::PromoteTo(d, y)));
    const auto v = hn::Add(hn::Add(sum, hn::Set(d, offset)), hn::Set(d, 0.5));
    const auto inside = hn::And(hn::Ge(v, hn::Zero(d)), hn::Lt(v, hn::Set(d, limit)));
    return hn::DemoteTo(half_ints, hn::IfThenElse(inside, v, hn::Set(d, -1.0)));
  };
  return hn::Combine(i, along(hn::UpperHalf(half, px), hn::UpperHalf(half, py)),
                     along(hn::LowerHalf(half, px), hn::LowerHalf(half, py)));
}

/// Reads the feature pixels of a face.
HWY_INLINE void read_pool(const PixelReader& face, const float* shape, Turn turn,
                          const VectorForest::Pool& table, std::size_t pool_row,
                          std::int32_t* pool) {
  const Floats f;
  const Ints i;
  const std::size_t lanes = hn::Lanes(f);
  const auto a = hn::Set(f, turn.a), b = hn::Set(f, turn.b);
  const auto stride = hn::Set(i, static_cast<std::int32_t>(face.luma.stride));
  HWY_ALIGN std::int32_t offset[HWY_MAX_BYTES / sizeof(std::int32_t)];
  for (std::size_t k = 0; k < pool_row; k += lanes) {
    const auto anchor = hn::Load(i, table.anchors + k);
    const auto dx = hn::Load(f, table.dx + k), dy = hn::Load(f, table.dy + k);
    const auto px = hn::Add(hn::Sub(hn::Mul(a, dx), hn::Mul(b, dy)),  //
                            hn::GatherIndex(f, shape, anchor));
    const auto py =
        hn::Add(hn::Add(hn::Mul(b, dx), hn::Mul(a, dy)), hn::GatherIndex(f, shape + 1, anchor));
    const auto x = pixel_along(px, py, face.xx, face.xy, face.x, face.luma.width);
    const auto y = pixel_along(px, py, face.yx, face.yy, face.y, face.luma.height);
    const auto outside = hn::BroadcastSignBit(hn::Or(x, y));
    hn::Store(hn::AndNot(outside, hn::Add(hn::Mul(y, stride), x)), i, offset);
    for (std::size_t j = 0; j < lanes; ++j) pool[k + j] = face.luma.data[offset[j]];
    hn::Store(hn::AndNot(outside, hn::Load(i, pool + k)), i, pool + k);
  }
}

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

/// Finds the leaf of every tree, counted through the cascade.
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

template <typename Leaf>
HWY_INLINE void prefetch_leaf(const Leaf* leaf, std::size_t size) {
  for (std::size_t i = 0; i < size; i += kCacheLine / sizeof(Leaf)) hwy::Prefetch(leaf + i);
}

/// sum + leaves, in their order. By value: the compiler cannot know that a vector store leaves an
/// array of pointers as it is.
template <class D, typename Leaf, class V = hn::Vec<D>>
HWY_INLINE V add_all(D d, V sum, const std::array<const Leaf*, kTreesAtOnce> leaves,
                     std::size_t i) {
  for (const Leaf* leaf : leaves) sum = hn::Add(sum, hn::LoadU(d, leaf + i));
  return sum;
}

/// Adds the leaves of kTreesAtOnce trees in whole vectors from coordinate i on, which is moved
/// behind what was done: floats one by one to each coordinate.
template <class D>
HWY_INLINE void add_vectors(D d, const std::array<const float*, kTreesAtOnce> leaves,
                            std::size_t size, std::size_t& i, float* shape) {
  for (const std::size_t lanes = hn::Lanes(d); i + lanes <= size; i += lanes) {
    hn::StoreU(add_all(d, hn::LoadU(d, shape + i), leaves, i), d, shape + i);
  }
}

/// The same of a compact model: so few fit 16 bits.
template <class D>
HWY_INLINE void add_vectors(D d, const std::array<const std::int16_t*, kTreesAtOnce> leaves,
                            std::size_t size, std::size_t& i, std::int32_t* sums) {
  static_assert(kTreesAtOnce * kCompactLimit < 32768);
  const hn::Rebind<std::int32_t, hn::Half<D>> half;
  const hn::Half<D> half_shorts;
  const std::size_t lanes = hn::Lanes(d);
  for (; i + lanes <= size; i += lanes) {
    const auto part = add_all(d, hn::Zero(d), leaves, i);
    const auto low = hn::PromoteTo(half, hn::LowerHalf(half_shorts, part));
    const auto high = hn::PromoteTo(half, hn::UpperHalf(half_shorts, part));
    std::int32_t* const middle = sums + i + lanes / 2;
    hn::StoreU(hn::Add(hn::LoadU(half, sums + i), low), half, sums + i);
    hn::StoreU(hn::Add(hn::LoadU(half, middle), high), half, middle);
  }
}

/// Adds the leaves of up to kTreesAtOnce trees to `sums`, coordinate by coordinate in the trees'
/// order.
template <typename Leaf, typename Sum>
HWY_INLINE void add_leaves(const Leaf* leaves, const std::int32_t* found, std::size_t trees,
                           std::size_t size, Sum* sums) {
  std::array<const Leaf*, kTreesAtOnce> leaf;
  for (std::size_t t = 0; t < trees; ++t) {
    leaf[t] = leaves + static_cast<std::size_t>(found[t]) * size;
  }
  std::size_t i = 0;
  if (trees == kTreesAtOnce) {
    add_vectors(hn::ScalableTag<Leaf>(), leaf, size, i, sums);
    add_vectors(hn::CappedTag<Leaf, 16 / sizeof(Leaf)>(), leaf, size, i, sums);
  }
  for (; i < size; ++i) {
    for (std::size_t t = 0; t < trees; ++t) sums[i] += leaf[t][i];
  }
}

/// Adds what all trees of a cascade found to the sums of each face.
template <typename Leaf, typename Sum>
void add_trees(const Leaf* leaves, ImageView<const std::int32_t> found, int faces,
               std::size_t trees, std::size_t size, ImageView<Sum> sums) {
  for (std::size_t t = 0; t < trees; t += kTreesAtOnce) {
    const std::size_t next = t + kPrefetchTrees, end = std::min(next + kTreesAtOnce, trees);
    for (int f = 0; f < faces; ++f) {
      for (std::size_t k = next; k < end; ++k) {
        const std::int32_t leaf = found.row(f)[k];
        if (f > 0 && leaf == found.row(f - 1)[k]) continue;
        prefetch_leaf(leaves + static_cast<std::size_t>(leaf) * size, size);
      }
      add_leaves(leaves, found.row(f) + t, std::min(kTreesAtOnce, trees - t), size, sums.row(f));
    }
  }
}

void regress(const ForestModel& model, const VectorForest& forest, int cascades,
             std::span<const Point> mean, std::span<const PixelReader> faces,
             VectorScratch& scratch) {
  const auto trees = static_cast<std::size_t>(model.trees);
  const auto size = static_cast<std::size_t>(model.leaf_size());
  const auto shapes = scratch.shapes.view();
  const auto pools = scratch.pools.view();
  const auto found = scratch.leaves.view();
  const auto sums = scratch.sums.view();
  const int count = static_cast<int>(faces.size());
  for (int f = 0; f < count; ++f) {
    std::copy(model.mean_shape.begin(), model.mean_shape.end(), shapes.row(f));
  }
  for (int c = 0; c < cascades; ++c) {
    for (int f = 0; f < count; ++f) {
      const Turn turn = fit_turn(mean, {reinterpret_cast<Point*>(shapes.row(f)), mean.size()});
      read_pool(faces[static_cast<std::size_t>(f)], shapes.row(f), turn, forest.pool(c),
                forest.pool_row(), pools.row(f));
      kWalkTrees[model.depth - 1](forest.splits(c), forest.split_row(), pools.row(f), trees,
                                  found.row(f));
    }
    const std::size_t first_leaf = (static_cast<std::size_t>(c) * trees * size) << model.depth;
    if (!model.is_compact()) {
      add_trees(model.leaves.data() + first_leaf, ImageView<const std::int32_t>(found), count,
                trees, size, shapes);
      continue;
    }
    for (int f = 0; f < count; ++f) std::fill_n(sums.row(f), size, 0);
    add_trees(model.compact_leaves.data() + first_leaf, ImageView<const std::int32_t>(found), count,
              trees, size, sums);
    const float* scales = model.leaf_scales.data() + static_cast<std::size_t>(c) * size;
    for (int f = 0; f < count; ++f) add_scaled(sums.row(f), scales, size, shapes.row(f));
  }
}

#endif
}  // namespace cuface::forest::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cuface::forest {
namespace {

static_assert(Image<std::int32_t>::kAlignment >= 16 * sizeof(std::int32_t), "rows are vectors");

/// A table whose padding is readable.
template <typename T>
Image<T> zeros(int width, int height) {
  Image<T> table(width, height);
  std::fill_n(table.view().data, VectorForest::row_length(table) * static_cast<std::size_t>(height),
              T{});
  return table;
}

/// The threshold as an integer that compares alike with every difference of two pixels.
std::int32_t whole_threshold(float threshold) {
  return static_cast<std::int32_t>(std::clamp(std::floor(threshold), -256.0f, 255.0f));
}

}  // namespace

bool VectorForest::takes(const ForestModel& model) {
  return model.pool <= kMaxPool && model.depth <= kMaxDepth;
}

bool takes(ImageView<const std::uint8_t> luma) {
  return luma.width > 0 && luma.height > 0 && luma.stride >= 0 &&
         luma.stride <= std::numeric_limits<std::int32_t>::max() / luma.height;
}

VectorForest::VectorForest(const ForestModel& model, int cascades)
    : nodes_(model.splits_per_tree()),
      splits_(zeros<std::int32_t>(model.trees, cascades * nodes_)),
      anchors_(zeros<std::int32_t>(model.pool, cascades)),
      dx_(zeros<float>(model.pool, cascades)),
      dy_(zeros<float>(model.pool, cascades)) {
  const ForestSplit* split = model.splits.data();
  for (int c = 0; c < cascades; ++c) {
    for (int t = 0; t < model.trees; ++t) {
      for (int n = 0; n < nodes_; ++n, ++split) {
        splits_.view().at(t, c * nodes_ + n) =
            static_cast<std::int32_t>(split->a << 20 | split->b << 9) |
            (whole_threshold(split->threshold) + 256);
      }
    }
    for (int i = 0; i < model.pool; ++i) {
      const auto k = static_cast<std::size_t>(c * model.pool + i);
      anchors_.view().at(i, c) = 2 * static_cast<std::int32_t>(model.anchors[k]);
      dx_.view().at(i, c) = model.deltas[2 * k];
      dy_.view().at(i, c) = model.deltas[2 * k + 1];
    }
  }
}

VectorForest::Pool VectorForest::pool(int cascade) const {
  return {anchors_.view().row(cascade), dx_.view().row(cascade), dy_.view().row(cascade)};
}

HWY_EXPORT(regress);

void regress_vector(const ForestModel& model, const VectorForest& forest, int cascades,
                    std::span<const Point> mean, std::span<const PixelReader> faces,
                    VectorScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(regress)(model, forest, cascades, mean, faces, scratch);
}

}  // namespace cuface::forest
#endif
