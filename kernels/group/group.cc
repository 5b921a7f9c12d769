#include "kernels/group/group.h"

#include <numeric>

#include "kernels/group/rules.h"

namespace cuface {
namespace {

// Union-find over window indices; every set's root is its smallest index.
int find_root(std::vector<int>& parent, int i) {
  const auto at = [&](int k) -> int& { return parent[static_cast<std::size_t>(k)]; };
  while (at(i) != i) {
    at(i) = at(at(i));
    i = at(i);
  }
  return i;
}

void unite(std::vector<int>& parent, int a, int b) {
  a = find_root(parent, a);
  b = find_root(parent, b);
  parent[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
}

// How far below the top of `r` the top of a related box can lie.
int reach(const Rect& r, Grouping rule) {
  return rule == Grouping::kOpenCv ? (r.w + r.h) / 10 : r.h;
}

// Unites every pair of related windows. Sorted by their tops, only windows within reach are
// compared. False once `stop` is raised.
bool unite_related(std::span<const Rect> windows, Grouping rule, GroupScratch& scratch,
                   const StopFlag* stop) {
  const auto window = [&](int i) -> const Rect& { return windows[static_cast<std::size_t>(i)]; };
  std::vector<int>& order = scratch.order;
  order.resize(windows.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return window(a).y != window(b).y ? window(a).y < window(b).y : a < b;
  });
  scratch.parent.resize(windows.size());
  std::iota(scratch.parent.begin(), scratch.parent.end(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (is_raised(stop)) return false;
    const Rect& a = window(order[i]);
    const int last = a.y + reach(a, rule);
    for (std::size_t j = i + 1; j < order.size() && window(order[j]).y <= last; ++j) {
      if (related(a, window(order[j]), rule)) unite(scratch.parent, order[i], order[j]);
    }
  }
  return true;
}

// Sums of each set's boxes, at its root; neighbors counts them.
void sum_sets(std::span<const Rect> windows, GroupScratch& scratch) {
  scratch.sums.assign(windows.size(), Detection{});
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const int root = find_root(scratch.parent, static_cast<int>(i));
    Detection& sum = scratch.sums[static_cast<std::size_t>(root)];
    sum.box.x += windows[i].x;
    sum.box.y += windows[i].y;
    sum.box.w += windows[i].w;
    sum.box.h += windows[i].h;
    ++sum.neighbors;
  }
}

}  // namespace

void GroupScratch::reserve(std::size_t windows) {
  order.reserve(windows);
  parent.reserve(windows);
  sums.reserve(windows);
  means.reserve(windows);
}

bool group(std::span<const Rect> windows, Grouping rule, int min_neighbors, GroupScratch& scratch,
           std::vector<Detection>& out, const StopFlag* stop) {
  out.clear();
  if (min_neighbors == 0) {
    for (const Rect& r : windows) out.push_back({r, 1});
    std::sort(out.begin(), out.end(), comes_before);
    return true;
  }
  if (!unite_related(windows, rule, scratch, stop)) return false;
  sum_sets(windows, scratch);
  scratch.means.clear();
  for (const Detection& sum : scratch.sums) {
    if (sum.neighbors == 0 || !enough(sum.neighbors, rule, min_neighbors)) continue;
    scratch.means.push_back(mean_of(sum));
  }
  for (const Detection& mean : scratch.means) {
    if (is_raised(stop)) {
      out.clear();
      return false;
    }
    const bool dropped =
        rule == Grouping::kOpenCv &&
        std::any_of(scratch.means.begin(), scratch.means.end(), [&](const Detection& outer) {
          return &outer != &mean && is_inner_box(mean, outer);
        });
    if (!dropped) out.push_back(mean);
  }
  std::sort(out.begin(), out.end(), comes_before);
  return true;
}

}  // namespace cuface
