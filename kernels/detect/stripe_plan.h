// How levels are cut into stripes of rows, what of them a band or a map of active parts needs, and
// which are searched together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cells/cells.h"
#include "kernels/detect/searcher.h"
#include "kernels/levels/levels.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface {

struct Stripe {
  std::size_t level;
  int left, top;                        ///< in the level's pixels
  SearchGrid grid;                      ///< from there on
  std::uint64_t cells = 0;              ///< columns of the map that it covers
  const ActivityMap* active = nullptr;  ///< where it has some of them off
};

/// Small stripes are searched together until they have so many pixels, whose sums the cache holds.
inline constexpr long long kPixelsTogether = 1 << 15;

/// As many columns are summed: whole vectors of pairs.
inline constexpr int kColumnsTogether = 32;
inline int summed_columns(int width) {
  return (width + kColumnsTogether - 1) / kColumnsTogether * kColumnsTogether;
}

/// A stride of an odd number of cache lines, so that rows do not compete for places in the cache.
inline int stride_for(int width) {
  constexpr int kLine = 16;
  const int lines = (width + kLine - 1) / kLine;
  return (lines | 1) * kLine;
}

/// What all threads read.
struct StripePlan {
  StripePlan(const CascadeModel& m, const SearchPlan& plan)
      : model(m),
        tilted(m.has_tilted()),
        levels(plan_levels(m, plan)),
        cells(cell_grid(plan.width, plan.height)),
        shared(plan.shared ? plan.shared : std::make_shared<SharedSearch>(m)) {
    for (const Level& l : levels) {
      if (is_raised(stop())) return;
      resizes.emplace_back(plan.width, plan.height, l.width, l.height);
      cell_ends.push_back(ends_of_cells(l));
      width = std::max(width, l.width);
    }
    for (std::size_t i = 0; i < levels.size(); ++i) {
      add_stripes(i, {0, levels[i].grid.rows}, stripes);
    }
    windows = count_windows(levels);
    shared->make_room(plan);
    stride = stride_for(summed_columns(shared->width()) + 2);
    plane_rows = shared->rows();
    plane_words = static_cast<std::ptrdiff_t>(plane_rows) * stride;
    for (const int step : {1, 2}) {
      const bool used = std::any_of(levels.begin(), levels.end(),
                                    [&](const Level& l) { return l.grid.step == step; });
      cascades.push_back(used ? &shared->bound({stride, 2 * plane_words, step}) : nullptr);
    }
  }

  const StopFlag* stop() const { return shared->stop(); }

  /// Those of some rows of a level; none is higher than the highest of the whole level.
  void add_stripes(std::size_t i, const RowRange& range, std::vector<Stripe>& out) const {
    const SearchGrid& grid = levels[i].grid;
    if (grid.columns == 0) return;
    const int rows = rows_of_stripes(grid);
    for (int top = range.first; top < range.last; top += rows) {
      SearchGrid part = grid;
      part.rows = std::min(rows, range.last - top);
      out.push_back({i, 0, top, part});
    }
  }

  /// The windows of each row of windows in front of the end of each column of cells.
  std::vector<int> ends_of_cells(const Level& l) const {
    const int windows = (l.grid.columns + l.grid.step - 1) / l.grid.step;
    std::vector<int> ends;
    int k = 0;
    for (int c = 0; c < cells.columns; ++c) {
      while (k < windows &&
             window_cell(k * l.grid.step, model.window_width, cells.columns, l.width) <= c)
        ++k;
      ends.push_back(k);
    }
    return ends;
  }
  int first_window(std::size_t level, int cell) const {
    return cell == 0 ? 0 : cell_ends[level][static_cast<std::size_t>(cell) - 1];
  }
  int end_window(std::size_t level, int cell) const {
    return cell_ends[level][static_cast<std::size_t>(cell)];
  }
  const std::uint64_t* rows_of(const ActivityMap& map, std::size_t level) const {
    return map.cells[level_class(model.window_width, levels[level].scale)];
  }
  int cell_row(std::size_t level, int y) const {
    return window_cell(y, model.window_height, cells.rows, levels[level].height);
  }

  /// Cuts those that a map has parts of off into smaller ones around these.
  void add_active(const ActivityMap& map, std::vector<Stripe>& out) const {
    for (const Stripe& whole : stripes) {
      const std::uint64_t* rows = rows_of(map, whole.level);
      const int first = cell_row(whole.level, whole.top);
      const int last = cell_row(whole.level, whole.top + whole.grid.rows - 1);
      std::uint64_t any = 0;
      for (int r = first; r <= last; ++r) any |= rows[r];
      for (int c = 0; c < cells.columns;) {
        Stripe part = whole;
        c = next_run(whole.level, any, c, part);
        if (part.cells != 0) add_rows(map, rows, part, out);
      }
    }
  }
  /// The next columns of cells that are on, from `c` on, as those of `part`; with such between that
  /// are off where the windows of both sides have pixels in common. Returns the column behind them.
  int next_run(std::size_t level, std::uint64_t on, int c, Stripe& part) const {
    const auto is_on = [&](int cell) { return (on >> cell & 1) != 0; };
    while (c < cells.columns && !is_on(c)) ++c;
    if (c == cells.columns) return c;
    const int step = part.grid.step, begin = first_window(level, c);
    int last = c;
    for (int next = c + 1; next < cells.columns; ++next) {
      const int gap = (first_window(level, next) - end_window(level, last)) * step;
      if (gap >= model.window_width) break;
      if (is_on(next)) last = next;
    }
    const int windows = end_window(level, last) - begin;
    if (windows > 0) {
      part.left = begin * step;
      part.grid.columns = (windows - 1) * step + 1;
      part.cells = cell_bits(c, last);
    }
    return last + 1;
  }
  /// The part from its first row that is on to its last.
  void add_rows(const ActivityMap& map, const std::uint64_t* rows, Stripe part,
                std::vector<Stripe>& out) const {
    const int step = part.grid.step, bottom = part.top + part.grid.rows;
    int first = bottom, end = part.top;
    bool holes = false;
    for (int y = part.top; y < bottom; y += step) {
      const std::uint64_t on = rows[cell_row(part.level, y)] & part.cells;
      holes = holes || on != part.cells;
      if (on == 0) continue;
      first = std::min(first, y);
      end = y + 1;
    }
    if (first >= end) return;
    part.top = first;
    part.grid.rows = end - first;
    if (holes) part.active = &map;
    out.push_back(part);
  }

  /// Those of a band, in the order of levels and rows.
  void add_stripes(const SearchRegion& band, std::vector<Stripe>& out) const {
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const Level& l = levels[i];
      add_stripes(i, band_rows(band, l.height, model.window_height, l.grid.rows, l.grid.step), out);
    }
  }

  /// Those whose windows begin above row `bottom` of the picture, `height` rows high.
  void add_stripes_above(int bottom, int height, std::vector<Stripe>& out) const {
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const long long rows = (static_cast<long long>(bottom) * levels[i].height) / height + 2;
      const int last = static_cast<int>(std::min<long long>(levels[i].grid.rows, rows));
      add_stripes(i, {0, last}, out);
    }
  }

  /// With the row of zeros above its sums.
  int rows_in_planes(const Stripe& s) const { return s.grid.rows + model.window_height; }
  std::ptrdiff_t mask_words() const { return width / 64 + 1; }

  /// How many stripes of a list are searched together, from the first one on.
  std::size_t together(std::span<const Stripe> list) const {
    long long pixels = 0;
    int taken = 0;  // rows
    std::size_t count = 0;
    for (const Stripe& s : list) {
      taken += rows_in_planes(s);
      pixels += static_cast<long long>(rows_in_planes(s)) * (s.grid.columns + model.window_width);
      const bool fits = taken <= plane_rows && pixels <= kPixelsTogether;
      if (count > 0 && (!fits || s.grid.step != list.front().grid.step)) break;
      ++count;
    }
    return count;
  }

  const CascadeModel& model;
  const bool tilted;
  const std::vector<Level> levels;
  const CellGrid cells;
  std::vector<std::vector<int>> cell_ends;  ///< of each level
  std::vector<LinearResize> resizes;
  std::vector<Stripe> stripes;
  long long windows = 0;
  int width = 0;                   ///< of the widest stripe, in pixels
  int stride = 0, plane_rows = 0;  ///< of the planes of sums
  std::ptrdiff_t plane_words = 0;
  std::shared_ptr<SharedSearch> shared;
  std::vector<const SharedSearch::Bound*> cascades;  ///< for step 1 and 2; null: not needed
};

}  // namespace cuface
