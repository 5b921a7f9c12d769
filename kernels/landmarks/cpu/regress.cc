#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/landmarks/cpu/regress.cc"
#include "kernels/landmarks/cpu/regress.h"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/common/dispatch.h"
#include "kernels/common/simd.h"
#include "kernels/landmarks/cpu/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cuface::forest::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR
// Never chosen: without vectors the plain version runs.
void regress(const ForestModel&, const VectorForest&, int, std::span<const Lever>,
             std::span<const PixelReader>, VectorScratch&) {}
#else

using Floats = hn::ScalableTag<float>;
using Doubles = hn::Repartition<double, Floats>;

// Leaves are summed this many at a time, which spares loads and stores of the shape.
constexpr std::size_t kTreesAtOnce = 8;
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

/// The landmarks that a vector of feature pixels hang on. Their numbers are sorted, so that most
/// often as many landmarks from the first on are all there are, and no gather is needed.
HWY_INLINE void anchors_at(const std::int32_t* anchors, const float* xs, const float* ys,
                           hn::Vec<Floats>& x, hn::Vec<Floats>& y) {
  const Floats f;
  const Ints i;
  const auto anchor = hn::Load(i, anchors);
  const std::int32_t first = anchors[0], last = anchors[hn::Lanes(i) - 1];
  if (static_cast<std::size_t>(last - first) < hn::Lanes(i)) {
    const auto indices = hn::IndicesFromVec(f, hn::Sub(anchor, hn::Set(i, first)));
    x = hn::TableLookupLanes(hn::LoadU(f, xs + first), indices);
    y = hn::TableLookupLanes(hn::LoadU(f, ys + first), indices);
  } else {
    x = hn::GatherIndex(f, xs, anchor);
    y = hn::GatherIndex(f, ys, anchor);
  }
}

/// Reads the feature pixels of a face, 0 outside the picture.
HWY_INLINE void read_pool(const PixelReader& face, std::span<const Point> shape,
                          ScaledRotation rotation, const VectorForest::Pool& table,
                          std::size_t pool_row, std::uint8_t* pool) {
  const Floats f;
  const Ints i;
  const hn::Rebind<std::uint8_t, Ints> some_bytes;
  const std::size_t lanes = hn::Lanes(f);
  const auto a = hn::Set(f, rotation.a), b = hn::Set(f, rotation.b);
  const auto stride = hn::Set(i, static_cast<std::int32_t>(face.luma.stride));
  HWY_ALIGN float xs[kMaxLandmarks + hn::MaxLanes(Floats())] = {}, ys[std::size(xs)] = {};
  for (std::size_t k = 0; k < shape.size(); ++k) {
    xs[k] = shape[k].x;
    ys[k] = shape[k].y;
  }
  HWY_ALIGN std::int32_t offset[VectorForest::kMaxPool];
  HWY_ALIGN std::uint8_t inside[VectorForest::kMaxPool];
  for (std::size_t k = 0; k < pool_row; k += lanes) {
    const auto dx = hn::Load(f, table.dx + k), dy = hn::Load(f, table.dy + k);
    hn::Vec<Floats> x0, y0;
    anchors_at(table.anchors + k, xs, ys, x0, y0);
    const auto px = hn::Add(hn::Sub(hn::Mul(a, dx), hn::Mul(b, dy)), x0);
    const auto py = hn::Add(hn::Add(hn::Mul(b, dx), hn::Mul(a, dy)), y0);
    const auto x = pixel_along(px, py, face.xx, face.xy, face.x, face.luma.width);
    const auto y = pixel_along(px, py, face.yx, face.yy, face.y, face.luma.height);
    const auto outside = hn::BroadcastSignBit(hn::Or(x, y));
    hn::Store(hn::AndNot(outside, hn::Add(hn::Mul(y, stride), x)), i, offset + k);
    hn::Store(hn::DemoteTo(some_bytes, hn::AndNot(outside, hn::Set(i, 255))), some_bytes,
              inside + k);
  }
  // In loops of their own: a load of a whole vector waits for stores of its bytes.
  const std::uint8_t* const picture = face.luma.data;
  for (std::size_t k = 0; k < pool_row; ++k) pool[k] = picture[offset[k]];
  for (std::size_t k = 0; k < pool_row; k += lanes) {
    hn::Store(hn::And(hn::Load(some_bytes, pool + k), hn::Load(some_bytes, inside + k)), some_bytes,
              pool + k);
  }
}

template <typename Leaf>
HWY_INLINE void prefetch_leaf(const Leaf* leaf, std::size_t size) {
  const auto* const end = reinterpret_cast<const std::uint8_t*>(leaf + size);
  for (auto* line = reinterpret_cast<const std::uint8_t*>(leaf); line < end; line += kCacheLine) {
    hwy::Prefetch(line);
  }
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
    add_vectors(hn::Half<hn::ScalableTag<Leaf>>(), leaf, size, i, sums);
    add_vectors(hn::CappedTag<Leaf, 16 / sizeof(Leaf)>(), leaf, size, i, sums);
  }
  for (; i < size; ++i) {
    for (std::size_t t = 0; t < trees; ++t) sums[i] += leaf[t][i];
  }
}

/// The leaves that several faces found in trees from `begin` to `end`, each of them once: faces
/// that are boxes of one face share most of them. Returns how many.
HWY_INLINE std::size_t distinct_leaves(ImageView<const std::int32_t> found, int faces,
                                       std::size_t begin, std::size_t end, std::int32_t* out) {
  const Ints i;
  std::size_t count = 0;
  for (std::size_t t = begin; t < end; t += hn::Lanes(i)) {
    IntVector of_face[kFacesTogether];
    for (int f = 0; f < faces; ++f) {
      of_face[f] = hn::Load(i, found.row(f) + t);
      auto is_new = hn::FirstN(i, end - t);
      for (int g = 0; g < f; ++g) is_new = hn::And(is_new, hn::Ne(of_face[f], of_face[g]));
      hn::StoreU(hn::Compress(of_face[f], is_new), i, out + count);
      count += hn::CountTrue(i, is_new);
    }
  }
  return count;
}

/// Adds what all trees of a stage found to the sums of each face.
template <typename Leaf, typename Sum>
void add_trees(const Leaf* leaves, ImageView<const std::int32_t> found, int faces,
               std::size_t trees, std::size_t size, ImageView<Sum> sums) {
  constexpr std::size_t kGroup = std::max(hn::MaxLanes(Ints()), kTreesAtOnce);
  HWY_ALIGN std::int32_t wanted[(kFacesTogether + 1) * kGroup];
  if (faces < 1) return;
  for (std::size_t t = 0; t < trees; t += kGroup) {
    // While a group is summed the leaves of the next one come, a share with each part.
    const std::size_t end = std::min(t + kGroup, trees);
    const std::size_t count =
        distinct_leaves(found, faces, end, std::min(end + kGroup, trees), wanted);
    const std::size_t parts =
        (end - t + kTreesAtOnce - 1) / kTreesAtOnce * static_cast<std::size_t>(faces);
    const std::size_t share = (count + parts - 1) / parts;
    std::size_t done = 0;
    for (std::size_t k = t; k < end; k += kTreesAtOnce) {
      for (int f = 0; f < faces; ++f) {
        for (const std::size_t stop = std::min(done + share, count); done < stop; ++done) {
          prefetch_leaf(leaves + static_cast<std::size_t>(wanted[done]) * size, size);
        }
        add_leaves(leaves, found.row(f) + k, std::min(kTreesAtOnce, end - k), size, sums.row(f));
      }
    }
  }
}

void regress(const ForestModel& model, const VectorForest& forest, int stages,
             std::span<const Lever> levers, std::span<const PixelReader> faces,
             VectorScratch& scratch) {
  const auto trees = static_cast<std::size_t>(model.trees);
  const auto size = static_cast<std::size_t>(model.leaf_size());
  const auto shapes = scratch.shapes.view();
  std::uint8_t* const pool = scratch.pool.view().data;
  const auto found = scratch.leaves.view();
  const auto sums = scratch.sums.view();
  const int count = static_cast<int>(faces.size());
  for (int f = 0; f < count; ++f) {
    std::copy(model.mean_shape.begin(), model.mean_shape.end(), shapes.row(f));
  }
  for (int c = 0; c < stages; ++c) {
    for (int f = 0; f < count; ++f) {
      const std::span<const Point> shape(reinterpret_cast<Point*>(shapes.row(f)), levers.size());
      read_pool(faces[static_cast<std::size_t>(f)], shape, fit_scaled_rotation(levers, shape),
                forest.pool(c), forest.pool_row(), pool);
      find_leaves(forest, c, model.depth, trees, pool, scratch.wide_pool.view().data, found.row(f));
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

/// One of SplitBytes.
void set_split(std::uint32_t a, std::uint32_t b, std::int32_t threshold, std::uint8_t* out) {
  const bool other = threshold < 0;
  if (other) std::swap(a, b);
  const std::uint32_t flags = (a >> 8 != 0 ? SplitBytes::kFarA : 0u) |
                              (b >> 8 != 0 ? SplitBytes::kFarB : 0u) |
                              (other ? SplitBytes::kOther : 0u);
  out[SplitBytes::kA] = static_cast<std::uint8_t>(a);
  out[SplitBytes::kB] = static_cast<std::uint8_t>(b);
  out[SplitBytes::kThreshold] = static_cast<std::uint8_t>(other ? -1 - threshold : threshold);
  out[SplitBytes::kFlags] = static_cast<std::uint8_t>(flags);
}

}  // namespace

bool VectorForest::takes(const ForestModel& model) {
  return model.pool <= kMaxPool && model.depth <= kMaxDepth;
}

bool takes(ImageView<const std::uint8_t> luma) {
  return luma.width > 0 && luma.height > 0 && luma.stride >= 0 &&
         luma.stride <= std::numeric_limits<std::int32_t>::max() / luma.height;
}

VectorForest::VectorForest(const ForestModel& model, int stages)
    : nodes_(model.splits_per_tree()),
      splits_(zeros<std::int32_t>(model.trees, stages * nodes_)),
      anchors_(zeros<std::int32_t>(model.pool, stages)),
      dx_(zeros<float>(model.pool, stages)),
      dy_(zeros<float>(model.pool, stages)) {
  const bool bytes = model.pool <= SplitBytes::kMaxPool && simd::byte_permutes();
  if (bytes) {
    blocks_ = (model.trees + SplitBytes::kTrees - 1) / SplitBytes::kTrees;
    split_bytes_ = zeros<std::uint8_t>(SplitBytes::kSize, stages * blocks_ * nodes_);
  }
  const ForestSplit* split = model.splits.data();
  std::vector<int> order(static_cast<std::size_t>(model.pool)), place(order.size());
  for (int c = 0; c < stages; ++c) {
    const std::uint32_t* const anchors = model.anchors.data() + c * model.pool;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return anchors[a] < anchors[b]; });
    for (int i = 0; i < static_cast<int>(pool_row()); ++i) {
      const int from = order[static_cast<std::size_t>(std::min(i, model.pool - 1))];
      anchors_.view().row(c)[i] = static_cast<std::int32_t>(anchors[from]);
      if (i >= model.pool) continue;
      const auto k = static_cast<std::size_t>(c * model.pool + from);
      dx_.view().at(i, c) = model.deltas[2 * k];
      dy_.view().at(i, c) = model.deltas[2 * k + 1];
      place[static_cast<std::size_t>(from)] = i;
    }
    for (int t = 0; t < model.trees; ++t) {
      for (int n = 0; n < nodes_; ++n, ++split) {
        const auto a = static_cast<std::uint32_t>(place[split->a]);
        const auto b = static_cast<std::uint32_t>(place[split->b]);
        const std::int32_t threshold = whole_threshold(split->threshold);
        splits_.view().at(t, c * nodes_ + n) =
            static_cast<std::int32_t>(PackedSplit::of(a, b, split->threshold).bits);
        if (!bytes) continue;
        const int row = (c * blocks_ + t / SplitBytes::kTrees) * nodes_ + n;
        set_split(a, b, threshold, split_bytes_.view().row(row) + t % SplitBytes::kTrees);
      }
    }
  }
}

VectorForest::Pool VectorForest::pool(int stage) const {
  return {anchors_.view().row(stage), dx_.view().row(stage), dy_.view().row(stage)};
}

HWY_EXPORT(regress);

void regress_vector(const ForestModel& model, const VectorForest& forest, int stages,
                    std::span<const Lever> levers, std::span<const PixelReader> faces,
                    VectorScratch& scratch) {
  CUFACE_DISPATCH(regress)(model, forest, stages, levers, faces, scratch);
}

}  // namespace cuface::forest
#endif
