#include "kernels/cascade/cuda/pair_tables.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cascade/cuda/search_tables.h"
#include "kernels/cascade/vector_tables.h"

namespace cuface::cuda {
namespace {

constexpr int kMostPixels = 65535 / 255, kMostSmall = 32767 / 255;
constexpr int kMostDenseTrees = 40;  // so many trees' lists cost more than windows that are out

int area(const HaarRect& r) { return r.w * r.h; }

bool contains(const HaarRect& outer, const HaarRect& r) {
  return r.x >= outer.x && r.y >= outer.y && r.x + r.w <= outer.x + outer.w &&
         r.y + r.h <= outer.y + outer.h;
}

bool are_apart(const HaarRect& a, const HaarRect& b) {
  return a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
}

/// A corner of a rectangle: top left, top right, bottom left, bottom right.
struct Point {
  int x, y;
  bool operator==(const Point&) const = default;
};
std::array<Point, 4> corners(const HaarRect& r) {
  return {{{r.x, r.y}, {r.x + r.w, r.y}, {r.x, r.y + r.h}, {r.x + r.w, r.y + r.h}}};
}
constexpr bool kPlus[4] = {true, false, false, true};

/// The corners that the inner part of an edge and the whole share, those of the inner part, those
/// of the whole. Of each two the one that counts positively comes first. Empty where there are not
/// two of each.
std::vector<Point> edge_corners(const HaarRect& whole, const HaarRect& inner) {
  const std::array<Point, 4> a = corners(inner), b = corners(whole);
  std::vector<Point> points(6);
  int both[2] = {}, apart[2] = {};
  for (int i = 0; i < 4; ++i) {
    const int sign = kPlus[i] ? 0 : 1;
    const auto k = static_cast<std::size_t>(i), at = static_cast<std::size_t>(sign);
    if (a[k] == b[k]) {
      points[at] = a[k];
      ++both[sign];
    } else {
      points[2 + at] = a[k];
      points[4 + at] = b[k];
      ++apart[sign];
    }
  }
  if (both[0] != 1 || both[1] != 1 || apart[0] != 1 || apart[1] != 1) points.clear();
  return points;
}

struct PairNode {
  PairShape shape = PairShape::kLarge;
  LargeShape large = LargeShape::kLine;
  std::vector<Point> corner;
  bool twice = false;  ///< the inner part
  int sign = 1;        ///< of checks
};

/// The middle third of three stripes: the ends of the four lines between and beside them. Of each
/// line the end further right or down comes second. Empty where it is not that.
std::vector<Point> stripe_corners(const HaarRect& whole, const HaarRect& inner) {
  const std::array<Point, 4> a = corners(whole), b = corners(inner);
  if (3 * area(inner) != area(whole)) return {};
  if (inner.h == whole.h && inner.x - whole.x == inner.w)
    return {a[0], a[2], b[0], b[2], b[1], b[3], a[1], a[3]};
  if (inner.w == whole.w && inner.y - whole.y == inner.h)
    return {a[0], a[1], b[0], b[1], b[2], b[3], a[2], a[3]};
  return {};
}

/// Two by two squares, or rectangles, of which these two lie across: three corners down the left
/// side, then the two right of the first. Empty where they are not such.
std::vector<Point> check_corners(const HaarRect& whole, const HaarRect& a, const HaarRect& b) {
  const int w = a.w, h = a.h;
  if (b.w != w || b.h != h || whole.w != 2 * w || whole.h != 2 * h || a.x == b.x || a.y == b.y)
    return {};
  for (const HaarRect& r : {a, b})
    if ((r.x - whole.x) % w != 0 || (r.y - whole.y) % h != 0) return {};
  const Point p{whole.x, whole.y};
  return {p, {p.x, p.y + h}, {p.x, p.y + 2 * h}, {p.x + w, p.y}, {p.x + 2 * w, p.y}};
}

std::optional<PairNode> pair_node(const HaarFeature& f) {
  const HaarRect &whole = f.rects[0], &inner = f.rects[1];
  int inner_pixels = area(inner);
  if (f.tilted || whole.weight != -1 || !contains(whole, inner)) return {};
  PairNode node;
  const auto add = [&](const HaarRect& r) {
    for (const Point& p : corners(r)) node.corner.push_back(p);
  };
  const auto small_as = [&](PairShape shape, std::vector<Point> points) {
    const int most = std::max((node.twice ? 2 : 1) * inner_pixels, area(whole) - inner_pixels);
    if (points.empty() || most > kMostSmall) return false;
    node.shape = shape;
    node.corner = std::move(points);
    return true;
  };
  if (f.rect_count == 3) {
    const HaarRect& second = f.rects[2];
    if (inner.weight != 2 || second.weight != 2 || !contains(whole, second) ||
        !are_apart(inner, second))
      return {};
    inner_pixels += area(second);
    node.sign = (inner.x < second.x) == (inner.y < second.y) ? 1 : -1;
    if (small_as(PairShape::kChecks, check_corners(whole, inner, second))) return node;
    node.large = LargeShape::kTwo;
    add(inner);
    add(second);
  } else {
    if (inner.weight != 2 && inner.weight != 3) return {};
    node.twice = inner.weight == 3;
    if (node.twice ? small_as(PairShape::kStripe, stripe_corners(whole, inner))
                   : small_as(PairShape::kEdge, edge_corners(whole, inner)))
      return node;
    add(inner);
  }
  add(whole);
  if (inner_pixels > kMostPixels) return {};
  if (area(whole) - inner_pixels > kMostPixels) {
    node.large = LargeShape::kWide3;
    const std::vector<Point> line = stripe_corners(whole, inner);
    if (!node.twice || line.empty()) return {};
    // Each stripe between two lines, of which the first has the corner that counts positively.
    node.corner.clear();
    for (const std::size_t i : {2u, 0u, 4u})
      node.corner.insert(node.corner.end(), {line[i], line[i + 1], line[i + 2], line[i + 3]});
  }
  return node;
}

/// A node as add_pair_node() reads it, but for the first two words.
std::vector<std::uint32_t> words_of(const PairNode& node, const SumLayout& layout) {
  std::vector<std::uint32_t> words;
  const auto offset = [&](std::size_t i) {
    return static_cast<std::uint32_t>(kWordBytes *
                                      layout.offset(node.corner[i].x, node.corner[i].y));
  };
  switch (node.shape) {
    case PairShape::kStripe:
      for (const std::size_t i : {0u, 2u, 4u, 6u}) words.push_back(offset(i));
      words.push_back(offset(1) - offset(0));
      break;
    case PairShape::kChecks:
      for (const std::size_t i : {0u, 1u, 2u}) words.push_back(offset(i));
      words.insert(words.end(), {offset(3) - offset(0), offset(4) - offset(0),
                                 static_cast<std::uint32_t>(node.sign)});
      break;
    case PairShape::kLarge:
      words = {std::bit_cast<std::uint32_t>(node.twice ? 2.0f : 1.0f),
               static_cast<std::uint32_t>(node.large)};
      [[fallthrough]];
    case PairShape::kEdge:
      for (std::size_t i = 0; i < node.corner.size(); ++i) words.push_back(offset(i));
  }
  words.resize(static_cast<std::size_t>(4 * pair_node_size(node.shape) - 2));
  return words;
}

/// In how many parts warps share the trees of a stage for so many groups of pairs. They are done
/// soonest then, and have least to do together.
int best_slices(int trees, int groups) {
  constexpr int kWarps = kPairThreads / 32;
  constexpr int kTree = 43, kPart = 150;  // instructions of a warp: counted, estimated
  int best = 1, least = std::numeric_limits<int>::max();
  for (int slices = 1; slices <= kWarps; ++slices) {
    const int parts = groups * slices, rounds = (parts - 1) / kWarps + 1;
    const int one = ((trees - 1) / slices + 1) * kTree + kPart;
    const int cost = (rounds * kWarps + parts) * one;
    if (cost >= least) continue;
    least = cost;
    best = slices;
  }
  return best;
}

}  // namespace

PairNodes pair_nodes(const CascadeModel& model, const SumLayout (&layouts)[2], int most,
                     std::vector<uint4>& nodes) {
  PairNodes out = {};
  std::vector<uint4> of_step[2];
  int trees = 0;
  BoundCascade bound(model);
  const VectorTables vector(bound, VectorSums::kWords);
  most = std::min({most, PairNodes::kStages, static_cast<int>(model.stages.size())});
  for (int s = 0; s < most; ++s) {
    const HaarStage& stage = model.stages[static_cast<std::size_t>(s)];
    const VectorStage& from = vector.stages()[static_cast<std::size_t>(s)];
    if (from.tree_nodes) break;
    PairStage to = {out.size, {}, from.base, from.fails, from.passes, {}};
    for (int groups = 1; groups <= kMostPairGroups; ++groups)
      to.slices[groups - 1] = static_cast<std::uint8_t>(best_slices(stage.tree_count, groups));
    std::vector<PairNode> made;
    for (int t = 0; t < stage.tree_count; ++t) {
      const HaarTree& tree = model.trees[static_cast<std::size_t>(stage.first_tree + t)];
      const HaarNode& node = model.nodes[static_cast<std::size_t>(tree.first_node)];
      const auto one = pair_node(model.features[static_cast<std::size_t>(node.feature)]);
      if (!one) break;
      made.push_back(*one);
    }
    int size = 0;
    for (const PairNode& node : made) size += pair_node_size(node.shape);
    if (static_cast<int>(made.size()) < stage.tree_count || out.size + size > PairNodes::kMostSize)
      break;
    for (int shape = 0; shape < kPairShapes; ++shape)
      for (std::size_t t = 0; t < made.size(); ++t) {
        if (made[t].shape != static_cast<PairShape>(shape)) continue;
        for (std::size_t i = 0; i < 2; ++i) {
          std::vector<std::uint32_t> words = {std::bit_cast<std::uint32_t>(from.nodes[t].threshold),
                                              static_cast<std::uint32_t>(from.nodes[t].left_leaf)};
          const std::vector<std::uint32_t> rest = words_of(made[t], layouts[i]);
          words.insert(words.end(), rest.begin(), rest.end());
          for (std::size_t w = 0; w < words.size(); w += 4)
            of_step[i].push_back({words[w], words[w + 1], words[w + 2], words[w + 3]});
        }
        ++to.count[shape];
      }
    out.size += size;
    out.stage[out.stage_count++] = to;
    trees += stage.tree_count;
    if (s == 0 || trees <= kMostDenseTrees) out.dense_stages = out.stage_count;
  }
  for (const auto& step : of_step) nodes.insert(nodes.end(), step.begin(), step.end());
  return out;
}

}  // namespace cuface::cuda
