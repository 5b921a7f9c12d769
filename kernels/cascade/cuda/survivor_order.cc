#include "kernels/cascade/cuda/survivor_order.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace cuface::cuda {
namespace {

constexpr int kBanks = 32, kRects = 3, kCorners = 4 * kRects;
constexpr int kWarpNodes = 32;
// Each node is tried in each warp of as many: the time grows with their number, and no faster. The
// largest stage known has 406 nodes.
constexpr int kMostTogether = 1024;
static_assert(kMostTogether % kWarpNodes == 0);
constexpr std::uint16_t kPlace = (1u << LateNode::kWeightShift) - 1;

/// The words that the nodes of one warp read, corner by corner.
class WarpReads {
 public:
  explicit WarpReads(int words) : words_(words) {
    lanes_.resize(static_cast<std::size_t>(kCorners * words));
  }
  void add(int corner, int word) {
    if (lanes(corner, word)++ == 0) ++turns(corner, word);
  }
  void remove(int corner, int word) {
    if (--lanes(corner, word) == 0) --turns(corner, word);
  }
  /// How much longer reads take with one more: each word of a bank is a turn of its own, but all
  /// lanes that want the same word get it at once. The longest wait counts most.
  int cost(int corner, int word) {
    return lanes(corner, word) > 0 ? 0 : 1 << std::min<int>(2 * turns(corner, word), 24);
  }

 private:
  std::uint8_t& lanes(int corner, int word) {
    return lanes_[static_cast<std::size_t>(corner * words_ + word)];
  }
  std::uint8_t& turns(int corner, int word) {
    return turns_[static_cast<std::size_t>(corner * kBanks + word % kBanks)];
  }

  int words_;
  std::vector<std::uint8_t> lanes_;  // that read the word
  std::array<std::uint8_t, kCorners* kBanks> turns_ = {};
};

/// Corners of a rectangle that may change places: both are added, or both taken away.
void arrange(LateNode& node, int rect, int way) {
  std::uint16_t* c = node.corner + 4 * rect;
  const std::uint16_t weight = c[0] & static_cast<std::uint16_t>(~kPlace);
  c[0] &= kPlace;
  if (way & 1) std::swap(c[0], c[3]);
  if (way & 2) std::swap(c[1], c[2]);
  c[0] = static_cast<std::uint16_t>(c[0] | weight);
}

int word_of(const LateNode& node, int corner) {
  return (corner % 4 == 0 ? node.corner[corner] & kPlace : node.corner[corner]) / kWordBytes;
}

/// Arranges the node's corners as suits `reads` best; what it costs then.
int fit(WarpReads& reads, LateNode& node) {
  int sum = 0;
  for (int r = 0; r < kRects; ++r) {
    int best = std::numeric_limits<int>::max(), chosen = 0;
    constexpr int kWays = 4;
    for (int way = 0; way < kWays; ++way) {
      LateNode tried = node;
      arrange(tried, r, way);
      int cost = 0;
      for (int c = 4 * r; c < 4 * r + 4; ++c) cost += reads.cost(c, word_of(tried, c));
      if (cost >= best) continue;
      best = cost;
      chosen = way;
    }
    arrange(node, r, chosen);
    sum += best;
  }
  return sum;
}

/// order_late_nodes() for at most kMostTogether.
void order_together(LateNode* nodes, int count) {
  const auto has_third = [](const LateNode& node) {
    return node.corner[8] >> LateNode::kWeightShift != 0;
  };
  const int thirds = static_cast<int>(std::count_if(nodes, nodes + count, has_third));
  const std::vector<LateNode> all(nodes, nodes + count);
  int words = 0;
  for (const LateNode& node : all)
    for (int c = 0; c < kCorners; ++c) words = std::max(words, word_of(node, c) + 1);
  std::vector<WarpReads> warps(static_cast<std::size_t>((count - 1) / kWarpNodes + 1),
                               WarpReads(words));
  std::vector<int> next[2];  // free places of each warp, for nodes without and with thirds
  std::vector<int> end[2];
  for (int w = 0; w < static_cast<int>(warps.size()); ++w) {
    const int first = w * kWarpNodes, last = std::min(first + kWarpNodes, count);
    const int border = std::clamp(count - thirds, first, last);
    next[0].push_back(first);
    end[0].push_back(border);
    next[1].push_back(border);
    end[1].push_back(last);
  }
  const auto put = [&](int at, const LateNode& node) {
    nodes[at] = node;
    for (int c = 0; c < kCorners; ++c)
      warps[static_cast<std::size_t>(at / kWarpNodes)].add(c, word_of(node, c));
  };
  for (const LateNode& node : all) {
    const int kind = has_third(node) ? 1 : 0;
    int best = std::numeric_limits<int>::max();
    std::size_t where = 0;
    LateNode chosen = node;
    for (std::size_t w = 0; w < warps.size(); ++w) {
      if (next[kind][w] == end[kind][w]) continue;
      LateNode tried = node;
      const int cost = fit(warps[w], tried);
      if (cost >= best) continue;
      best = cost;
      where = w;
      chosen = tried;
    }
    put(next[kind][where]++, chosen);
  }
  // Once all have a place: what else is there may be better arranged for.
  for (int pass = 0; pass < 3; ++pass)
    for (int at = 0; at < count; ++at) {
      WarpReads& reads = warps[static_cast<std::size_t>(at / kWarpNodes)];
      for (int c = 0; c < kCorners; ++c) reads.remove(c, word_of(nodes[at], c));
      LateNode node = nodes[at];
      fit(reads, node);
      put(at, node);
    }
}

}  // namespace

void order_late_nodes(LateNode* nodes, int count) {
  for (int first = 0; first < count; first += kMostTogether)
    order_together(nodes + first, std::min(kMostTogether, count - first));
}

}  // namespace cuface::cuda
