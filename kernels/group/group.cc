#include "kernels/group/group.h"

#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

#include "kernels/group/box_rules.h"

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

// Windows of one size, as runs of GroupScratch::cells.
using SizeClass = GroupScratch::SizeClass;
using Cell = GroupScratch::Cell;

int floor_div(int a, int b) { return a / b - (a % b < 0 ? 1 : 0); }

// A cell so small that any two windows of this size whose corners lie in it are related.
void set_cell_sides(SizeClass& size, Grouping rule) {
  const int tolerance = (size.w + size.h) / 10;
  size.cell_w = rule == Grouping::kOpenCv ? tolerance + 1 : size.w;
  size.cell_h = rule == Grouping::kOpenCv ? tolerance + 1 : size.h;
}

// Adds a size whose boxes are order[first .. last), box(i) of each, and its cells; sorts them by
// row and column.
template <typename Box>
void fill_cells_of(GroupScratch& scratch, SizeClass& size, std::vector<int>::iterator first,
                   std::vector<int>::iterator last, const Box& box) {
  const auto cell = [&](int i) {
    return std::pair(floor_div(box(i).y, size.cell_h), floor_div(box(i).x, size.cell_w));
  };
  std::sort(first, last, [&](int a, int b) { return cell(a) < cell(b); });
  for (auto i = first; i != last; ++i) {
    const int at = static_cast<int>(i - scratch.order.begin());
    const auto [row, column] = cell(*i);
    const bool more = scratch.cells.size() > size.first_cell && scratch.cells.back().row == row &&
                      scratch.cells.back().column == column;
    if (!more) scratch.cells.push_back({row, column, at, at});
    scratch.cells.back().last = at + 1;
  }
  size.last_cell = scratch.cells.size();
  scratch.sizes.push_back(size);
}

// The cells of every size, by row and column, and unites the windows of each.
void fill_cells(std::span<const Rect> windows, Grouping rule, GroupScratch& scratch) {
  const auto window = [&](int i) -> const Rect& { return windows[static_cast<std::size_t>(i)]; };
  std::vector<int>& order = scratch.order;
  order.resize(windows.size());
  std::iota(order.begin(), order.end(), 0);
  const auto by_size = [&](int a, int b) {
    return std::tie(window(a).w, window(a).h) < std::tie(window(b).w, window(b).h);
  };
  std::sort(order.begin(), order.end(), by_size);
  scratch.sizes.clear();
  scratch.cells.clear();
  for (auto first = order.begin(), last = first; first != order.end(); first = last) {
    last = std::upper_bound(first, order.end(), *first, by_size);
    SizeClass size{window(*first).w, window(*first).h, 0, 0, scratch.cells.size(), 0};
    set_cell_sides(size, rule);
    fill_cells_of(scratch, size, first, last, window);
    for (std::size_t c = size.first_cell; c < size.last_cell; ++c)
      for (int i = scratch.cells[c].first; i < scratch.cells[c].last; ++i)
        unite(scratch.parent, order[static_cast<std::size_t>(scratch.cells[c].first)],
              order[static_cast<std::size_t>(i)]);
  }
}

// Which corners of windows of size `b` can be related to one at 0 of size `a`: from -up to down.
struct Reach {
  int left, right, up, down;
};
Reach reach(const SizeClass& a, const SizeClass& b, Grouping rule) {
  if (rule == Grouping::kOverlap) return {b.w - 1, a.w - 1, b.h - 1, a.h - 1};
  const int tolerance = (std::min(a.w, b.w) + std::min(a.h, b.h)) / 10;
  if (std::max(std::abs(a.w - b.w), std::abs(a.h - b.h)) > 2 * tolerance) return {0, -1, 0, -1};
  return {tolerance, tolerance, tolerance, tolerance};
}

// Unites two cells when any two of their windows are related.
void unite_cells(std::span<const Rect> windows, Grouping rule, GroupScratch& scratch, const Cell& a,
                 const Cell& b) {
  const auto index = [&](int at) { return scratch.order[static_cast<std::size_t>(at)]; };
  if (find_root(scratch.parent, index(a.first)) == find_root(scratch.parent, index(b.first)))
    return;
  for (int i = a.first; i < a.last; ++i) {
    for (int j = b.first; j < b.last; ++j) {
      if (!related(windows[static_cast<std::size_t>(index(i))],
                   windows[static_cast<std::size_t>(index(j))], rule))
        continue;
      return unite(scratch.parent, index(i), index(j));
    }
  }
}

struct CellRange {
  int first_row, last_row, first_column, last_column;
};

// Whether is_it() is true of a cell of that size there; it is asked until then.
template <typename IsIt>
bool any_cell(const GroupScratch& scratch, const SizeClass& size, const CellRange& range,
              const IsIt& is_it) {
  const auto begin = scratch.cells.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(size.last_cell);
  const auto seek = [&](auto from, int row) {
    return std::lower_bound(from, end, std::pair(row, range.first_column),
                            [](const Cell& cell, const std::pair<int, int>& at) {
                              return std::pair(cell.row, cell.column) < at;
                            });
  };
  auto b = seek(begin + static_cast<std::ptrdiff_t>(size.first_cell), range.first_row);
  while (b != end && b->row <= range.last_row) {
    if (b->column < range.first_column) {
      b = seek(b, b->row);
    } else if (b->column > range.last_column) {
      b = seek(b, b->row + 1);
    } else if (is_it(*b++)) {
      return true;
    }
  }
  return false;
}

// Unites cell `a` of size `size` with the related cells of size `other`.
void unite_in_reach(std::span<const Rect> windows, Grouping rule, GroupScratch& scratch,
                    const SizeClass& size, const Cell& a, const SizeClass& other) {
  const Reach near = reach(size, other, rule);
  if (near.right < -near.left) return;
  const int y = a.row * size.cell_h, x = a.column * size.cell_w;
  const CellRange range{floor_div(y - near.up, other.cell_h),
                        floor_div(y + size.cell_h - 1 + near.down, other.cell_h),
                        floor_div(x - near.left, other.cell_w),
                        floor_div(x + size.cell_w - 1 + near.right, other.cell_w)};
  any_cell(scratch, other, range, [&](const Cell& b) {
    unite_cells(windows, rule, scratch, a, b);
    return false;
  });
}

// Unites every pair of related windows, by cells whose windows are all related: however many
// windows lie on one spot, few pairs are compared. False once `stop` is raised.
bool unite_related(std::span<const Rect> windows, Grouping rule, GroupScratch& scratch,
                   const StopFlag* stop) {
  scratch.parent.resize(windows.size());
  std::iota(scratch.parent.begin(), scratch.parent.end(), 0);
  fill_cells(windows, rule, scratch);
  for (std::size_t s = 0; s < scratch.sizes.size(); ++s) {
    const SizeClass& size = scratch.sizes[s];
    for (std::size_t c = size.first_cell; c < size.last_cell; ++c) {
      if (is_raised(stop)) return false;
      for (std::size_t o = s; o < scratch.sizes.size(); ++o)
        unite_in_reach(windows, rule, scratch, size, scratch.cells[c], scratch.sizes[o]);
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

// The means by what is_inner_box() widens them to: cells of powers of two, each as large as the
// largest of its boxes.
void fill_outer_cells(GroupScratch& scratch) {
  const auto widened = [&](int i) {
    const Rect& box = scratch.means[static_cast<std::size_t>(i)].box;
    const int dx = fifth(box.w), dy = fifth(box.h);
    return Rect{box.x - dx, box.y - dy, box.w + 2 * dx, box.h + 2 * dy};
  };
  const auto bits = [&](int i) {
    const Rect box = widened(i);
    return std::bit_width(static_cast<unsigned>(std::max(box.w, box.h)));
  };
  std::vector<int>& order = scratch.order;
  order.resize(scratch.means.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return bits(a) < bits(b); });
  scratch.sizes.clear();
  scratch.cells.clear();
  for (auto first = order.begin(), last = first; first != order.end(); first = last) {
    const int side = 1 << bits(*first);
    last = std::find_if(first, order.end(), [&](int i) { return bits(i) != bits(*first); });
    SizeClass size{side, side, side, side, scratch.cells.size(), 0};
    fill_cells_of(scratch, size, first, last, widened);
  }
}

// Whether `mean`, one of scratch.means, is an inner box of another: one whose corner is less than a
// cell before its own.
bool is_dropped(const GroupScratch& scratch, const Detection& mean) {
  return std::any_of(scratch.sizes.begin(), scratch.sizes.end(), [&](const SizeClass& size) {
    const int row = floor_div(mean.box.y, size.cell_h), column = floor_div(mean.box.x, size.cell_w);
    return any_cell(scratch, size, {row - 1, row, column - 1, column}, [&](const Cell& cell) {
      return std::any_of(scratch.order.begin() + cell.first, scratch.order.begin() + cell.last,
                         [&](int i) {
                           const Detection& outer = scratch.means[static_cast<std::size_t>(i)];
                           return &outer != &mean && is_inner_box(mean, outer);
                         });
    });
  });
}

}  // namespace

void GroupScratch::reserve(std::size_t windows) {
  order.reserve(windows);
  sizes.reserve(windows);
  cells.reserve(windows);
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
  if (rule == Grouping::kOpenCv) fill_outer_cells(scratch);
  for (const Detection& mean : scratch.means) {
    if (is_raised(stop)) {
      out.clear();
      return false;
    }
    if (rule != Grouping::kOpenCv || !is_dropped(scratch, mean)) out.push_back(mean);
  }
  std::sort(out.begin(), out.end(), comes_before);
  return true;
}

}  // namespace cuface
