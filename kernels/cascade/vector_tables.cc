// What the vector code reads of a cascade, and the room it works in.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/cascade/cpu/search.h"

namespace cuface {
namespace {

constexpr std::size_t kWidestVectors = 32;  // windows of two
constexpr int kWhite = 255;
constexpr double kLargestSum = 1 << 29;      // leaves are also subtracted from each other
constexpr std::size_t kFoundAtFirst = 4096;  // more than pictures hold, but some do

double largest_leaf(const BoundCascade::Tree& tree) {
  double most = 0;
  for (int i = 0; i <= tree.node_count; ++i) {
    most = std::max(most, std::abs(static_cast<double>(tree.leaves[i])));
  }
  return most;
}

// The power of two that makes the largest possible sum of a stage fill the integers.
double units_of(const BoundCascade::Stage& stage) {
  double most = 0;
  for (int t = 0; t < stage.tree_count; ++t) most += largest_leaf(stage.trees[t]);
  if (most == 0) return 1;
  return std::exp2(std::floor(std::log2(kLargestSum / most)));
}

std::int32_t clamped(double v) {
  return static_cast<std::int32_t>(std::clamp(v, -2 * kLargestSum, 2 * kLargestSum));
}

std::int32_t in_units(float leaf, double units) {
  return static_cast<std::int32_t>(std::lrint(static_cast<double>(leaf) * units));
}

// What each of some corners is multiplied with, in ascending order.
class Factors {
 public:
  void add(std::int32_t corner, int factor) {
    int i = 0;
    while (i < size_ && list_[i].corner < corner) ++i;
    if (i == size_ || list_[i].corner != corner) {
      std::copy_backward(list_ + i, list_ + size_, list_ + size_ + 1);
      list_[i] = {corner, 0};
      ++size_;
    }
    list_[i].factor += factor;
  }
  int size() const { return size_; }
  int count(int factor) const {
    return static_cast<int>(
        std::count_if(list_, list_ + size_, [&](const Entry& e) { return e.factor == factor; }));
  }
  std::int32_t* write(int factor, std::int32_t* out) const {
    for (int i = 0; i < size_; ++i)
      if (list_[i].factor == factor) *out++ = list_[i].corner;
    return out;
  }

 private:
  struct Entry {
    std::int32_t corner;
    int factor;
  };
  Entry list_[8];
  int size_ = 0;
};

// The corners of two rectangles with the weights -1 and `weight`, by what they are multiplied with.
// kGeneral where they have none of the shapes.
NodeShape merge_corners(const std::int32_t (&corner)[3][4], int weight, std::int32_t* merged) {
  constexpr int kSign[4] = {1, -1, -1, 1};
  Factors factors;
  for (int i = 0; i < 4; ++i) {
    factors.add(corner[0][i], -kSign[i]);
    factors.add(corner[1][i], kSign[i] * weight);
  }
  const auto count = [&](int factor) { return factors.count(factor); };
  const int inner = count(weight);
  if (count(1) != 2 || count(-1) != 2 || count(-weight) != inner ||
      factors.size() != 4 + 2 * inner) {
    return NodeShape::kGeneral;
  }
  for (const int factor : {1, -1, weight, -weight}) merged = factors.write(factor, merged);
  if (inner == 2) return weight == 2 ? NodeShape::kLine2 : NodeShape::kLine3;
  return inner == 1 && weight == 2 ? NodeShape::kEdge : NodeShape::kGeneral;
}

// Of a corner in a window.
int column_of(std::int32_t corner, const SumLayout& layout) {
  const int part = layout.stride / layout.step, at = corner % layout.stride;
  return at % part * layout.step + at / part;
}

// An upright rectangle of a window.
struct Sides {
  int left, top, right, bottom;

  static Sides of(const std::int32_t (&corner)[4], const SumLayout& layout) {
    return {column_of(corner[0], layout), corner[0] / layout.stride, column_of(corner[3], layout),
            corner[3] / layout.stride};
  }
  int area() const { return (right - left) * (bottom - top); }
  bool is_short() const { return area() * kWhite <= std::numeric_limits<std::uint16_t>::max(); }
  std::int32_t* write(const SumLayout& layout, std::int32_t* corner) const {
    for (const int y : {top, bottom}) {
      for (const int x : {left, right}) *corner++ = static_cast<std::int32_t>(layout.offset(x, y));
    }
    return corner;
  }
};

int common_area(const Sides& a, const Sides& b) {
  const int width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const int height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  return std::max(width, 0) * std::max(height, 0);
}

// What -1 and `weight` times two rectangles' sums can be: pixels of both count weight - 1 times.
bool value_is_short(const Sides& a, const Sides& b, int weight) {
  const int both = common_area(a, b);
  const int most = weight * b.area() - both, least = a.area() - both;
  return std::max(most, least) * kWhite <= std::numeric_limits<std::int16_t>::max();
}

// Two rectangles with the weights -1 and `weight`, the first of them cut in two where it is large.
// Exact where whole numbers are.
void cut_to_short(const Sides& a, const Sides& b, int weight, const SumLayout& layout,
                  VectorNode& out) {
  Sides upper = a, lower = a;
  upper.bottom = lower.top = (a.top + a.bottom) / 2;
  if (!upper.is_short() || !lower.is_short() || !b.is_short()) return;
  std::int32_t* corner = out.corner;
  for (const Sides& part : {upper, lower, b}) corner = part.write(layout, corner);
  std::fill_n(out.weight, 2, -1.0f);
  out.weight[2] = static_cast<float>(weight);
  out.shape = NodeShape::kGeneral;
  out.is_short = true;
}

void make_general(const BoundFeature& feature, VectorNode& out) {
  out.shape = NodeShape::kGeneral;
  std::copy_n(&feature.corner[0][0], 12, out.corner);
  std::copy_n(feature.weight, 3, out.weight);
}

// -1 and 2 or 3.
bool is_line(const float (&w)[3]) {
  return w[0] == -1.0f && (w[1] == 2.0f || w[1] == 3.0f) && w[2] == 0.0f;
}

VectorNode node_of_words(const BoundFeature& feature, bool exact_in_integers) {
  VectorNode v = {};
  if (exact_in_integers && is_line(feature.weight)) {
    v.shape = merge_corners(feature.corner, static_cast<int>(feature.weight[1]), v.corner);
    if (v.shape != NodeShape::kGeneral) return v;
  }
  make_general(feature, v);
  return v;
}

// Of an upright feature.
void make_short(const BoundFeature& feature, const SumLayout& layout, bool exact_in_integers,
                VectorNode& v) {
  const Sides a = Sides::of(feature.corner[0], layout), b = Sides::of(feature.corner[1], layout);
  const int weight = static_cast<int>(feature.weight[1]);
  if (v.shape != NodeShape::kGeneral && value_is_short(a, b, weight)) {
    v.is_short = true;
  } else if (a.is_short() && b.is_short() && Sides::of(feature.corner[2], layout).is_short()) {
    make_general(feature, v);
    v.is_short = true;
  } else if (exact_in_integers && is_line(feature.weight)) {
    cut_to_short(a, b, weight, layout, v);
  }
}

using VectorTree = std::vector<VectorNode>;

VectorTree vector_tree(const BoundCascade& cascade, const BoundCascade::Tree& tree, double units,
                       VectorSums sums, bool has_tilted) {
  const CascadeModel& model = cascade.model();
  const bool exact = model.window_width * model.window_height * kWhite * 3 < 1 << 24;
  VectorTree out;
  for (int n = 0; n < tree.node_count; ++n) {
    const BoundCascade::Node& node = tree.nodes[n];
    VectorNode v = node_of_words(node.feature, exact);
    const bool tilted = has_tilted && node.feature.corner[0][0] >= cascade.layout().tilted;
    if (sums == VectorSums::kShorts && !tilted) {
      make_short(node.feature, cascade.layout(), exact, v);
    }
    v.threshold = node.threshold;
    v.left = std::max(node.left, 0);
    v.right = std::max(node.right, 0);
    if (node.left <= 0) v.left_leaf = in_units(tree.leaves[-node.left], units);
    if (node.right <= 0) v.right_leaf = in_units(tree.leaves[-node.right], units);
    out.push_back(v);
  }
  return out;
}

}  // namespace

VectorTables::VectorTables(const BoundCascade& cascade, VectorSums sums) {
  std::size_t nodes = 0, trees = 0;
  for (const BoundCascade::Stage& stage : cascade.stages()) {
    for (int t = 0; t < stage.tree_count; ++t, ++trees) {
      const int count = stage.trees[t].node_count;
      nodes += static_cast<std::size_t>(count);
      most_nodes_ = std::max(most_nodes_, count);
    }
  }
  nodes_.reserve(nodes);
  tree_nodes_.reserve(trees);
  const bool has_tilted = cascade.model().has_tilted();  // once: it looks at all features
  for (const BoundCascade::Stage& stage : cascade.stages())
    add_stage(cascade, stage, sums, has_tilted);
}

void VectorTables::add_stage(const BoundCascade& cascade, const BoundCascade::Stage& stage,
                             VectorSums sums, bool has_tilted) {
  const double units = units_of(stage);
  std::vector<VectorTree> trees;
  trees.reserve(static_cast<std::size_t>(stage.tree_count));
  for (int t = 0; t < stage.tree_count; ++t) {
    trees.push_back(vector_tree(cascade, stage.trees[t], units, sums, has_tilted));
  }
  const bool stumps =
      std::all_of(trees.begin(), trees.end(), [](const VectorTree& t) { return t.size() == 1; });
  VectorStage out = {};
  out.nodes = nodes_.data() + nodes_.size();
  out.tree_nodes = stumps ? nullptr : tree_nodes_.data() + tree_nodes_.size();
  out.tree_count = stage.tree_count;
  for (VectorTree& tree : trees) {
    if (stumps) {
      out.base += tree[0].right_leaf;
      tree[0].left_leaf -= tree[0].right_leaf;
    }
    tree_nodes_.push_back(static_cast<int>(tree.size()));
    nodes_.insert(nodes_.end(), tree.begin(), tree.end());
  }
  // Half a unit for each leaf, and one for the rounding of the definition's own sum in double.
  const double margin = 0.5 * stage.tree_count + 1;
  out.fails = clamped(std::floor(stage.threshold * units - margin));
  out.passes = clamped(std::ceil(stage.threshold * units + margin));
  stages_.push_back(out);
}

PackedLayout::PackedLayout(const CascadeModel& model, const SumLayout& layout)
    : stride(layout.stride * layout.step), step(layout.step), rows(model.window_height + 1) {
  if (model.has_tilted()) return;
  row_words = (model.window_width + 1 + 3) / 4 * 4;
}

std::int32_t PackedLayout::packed(std::int32_t corner, const SumLayout& layout) const {
  return corner / layout.stride * row_words + column_of(corner, layout);
}

SearchTables::SearchTables(const BoundCascade& cascade)
    : cascade_(cascade),
      tables_(cascade, VectorSums::kShorts),
      packed_layout_(cascade.model(), cascade.layout()) {
  if (!packed_layout_.packs()) return;
  packed_nodes_ = tables_.nodes();
  packed_stages_ = stages();
  for (VectorStage& stage : packed_stages_) {
    stage.nodes = packed_nodes_.data() + (stage.nodes - tables_.nodes().data());
  }
}

const std::vector<VectorStage>& SearchTables::packed_stages(std::size_t lanes) {
  if (packed_lanes_.load(std::memory_order_acquire) == lanes) return packed_stages_;
  const std::lock_guard lock(mutex_);
  if (packed_lanes_.load(std::memory_order_relaxed) == lanes) return packed_stages_;
  for (std::size_t n = 0; n < packed_nodes_.size(); ++n) {
    const VectorNode& node = tables_.nodes()[n];
    if (!node.is_short) continue;
    for (std::size_t i = 0; i < std::size(node.corner); ++i) {
      packed_nodes_[n].corner[i] = packed_layout_.packed(node.corner[i], cascade_.layout()) *
                                   static_cast<std::int32_t>(lanes);
    }
  }
  packed_lanes_.store(lanes, std::memory_order_release);
  return packed_stages_;
}

VectorSearch::VectorSearch(std::shared_ptr<SearchTables> tables,
                           std::shared_ptr<WaitingLists> waiting, int max_columns,
                           const StopFlag* stop)
    : tables_(std::move(tables)), waiting_(std::move(waiting)), stop_(stop) {
  if (packed_layout().packs())
    packed_ = Image<std::int16_t>(packed_layout().words() * static_cast<int>(kWidestVectors), 1);
  const std::size_t row = static_cast<std::size_t>(max_columns) + kWidestVectors;
  node_values_.resize(static_cast<std::size_t>(tables_->most_nodes()) * kWidestVectors);
  row_norm_.resize(row);
  failed_.resize(row / 64 + 1);
  alive_.resize(row / 64 + 1);
  found_.reserve(kFoundAtFirst);
}

}  // namespace cuface
