// OpenCV's way: the picture is scaled, the window stays. Levels are cut into stripes of rows, each
// of which is scaled, summed and searched by one thread in scratch of its own; what they find is
// joined in the order of levels and rows, so the number of threads does not show.
#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "kernels/cells/cells.h"
#include "kernels/common/workers.h"
#include "kernels/detect/searcher.h"
#include "kernels/integral/integral.h"
#include "kernels/levels/levels.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface {
namespace {

// A thread pays from so many windows on.
constexpr long long kWindowsPerThread = 1 << 14;

struct Stripe {
  std::size_t level;
  int left, top;                        ///< in the level's pixels
  SearchGrid grid;                      ///< from there on
  std::uint64_t cells = 0;              ///< columns of the map that it covers
  const ActivityMap* active = nullptr;  ///< where it has some of them off
};

/// A stride of an odd number of cache lines, so that rows do not compete for places in the cache.
int stride_for(int width) {
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
    for (const Stripe& s : stripes) height = std::max(height, s.grid.rows + m.window_height - 1);
    shared->make_room(plan);
    stride = stride_for(shared->width() + 2);
    plane_words = static_cast<std::ptrdiff_t>(shared->height() + 1) * stride;
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

  const CascadeModel& model;
  const bool tilted;
  const std::vector<Level> levels;
  const CellGrid cells;
  std::vector<std::vector<int>> cell_ends;  ///< of each level
  std::vector<LinearResize> resizes;
  std::vector<Stripe> stripes;
  long long windows = 0;
  int width = 0, height = 0;  ///< of the largest stripe, in pixels
  int stride = 0;
  std::ptrdiff_t plane_words = 0;
  std::shared_ptr<SharedSearch> shared;
  std::vector<const SharedSearch::Bound*> cascades;  ///< for step 1 and 2; null: not needed
};

/// What a thread writes.
class StripeSearch {
 public:
  StripeSearch(const StripePlan& plan, std::size_t worker)
      : plan_(plan), scratch_(plan.shared->scratch(worker)) {
    const auto make_room = [](auto& list, std::size_t size) {
      if (list.size() < size) list.resize(size);
    };
    const auto words = static_cast<std::size_t>(plan.plane_words);
    make_room(scratch_.pixels, 2 * static_cast<std::size_t>(plan.width));
    make_room(scratch_.sums, words * (plan.tilted ? 3 : 2) + kSumPadding);
    make_room(scratch_.shorts, words * 3 + kSumPadding);
    make_room(scratch_.mask, static_cast<std::size_t>(plan.height) *
                                 static_cast<std::size_t>(plan.width / 64 + 1));
    for (const SharedSearch::Bound* bound : plan.cascades) {
      searches_.push_back(bound ? std::make_unique<CascadeSearch>(bound->cascade, plan.width,
                                                                  bound->tables, scratch_.waiting,
                                                                  plan.stop())
                                : nullptr);
    }
  }

  bool run(ImageView<const std::uint8_t> picture, const Stripe& stripe, std::size_t limit,
           std::vector<RawWindow>& out) {
    out.clear();
    if (!prepare(picture, stripe)) return false;
    const WindowMask mask = stripe.active ? make_mask(stripe) : WindowMask{};
    const std::size_t search = stripe.grid.step == 1 ? 0 : 1;
    const bool all =
        searches_[search]->run({plane(0), plane(1), scratch_.shorts.data(), in_order(stripe)},
                               stripe.grid, static_cast<int>(stripe.level), limit, out, mask);
    for (RawWindow& w : out) {
      w.x += stripe.left;
      w.y += stripe.top;
    }
    return all;
  }

 private:
  std::uint32_t* plane(int index) { return scratch_.sums.data() + index * plan_.plane_words; }
  std::uint16_t* in_order(const Stripe& stripe) {
    return scratch_.shorts.data() + (stripe.grid.step == 1 ? 0 : plan_.plane_words);
  }

  WindowMask make_mask(const Stripe& stripe) {
    const std::uint64_t* rows = plan_.rows_of(*stripe.active, stripe.level);
    const int step = stripe.grid.step, begin = stripe.left / step;
    const std::ptrdiff_t words = plan_.width / 64 + 1;
    std::uint64_t* bits = scratch_.mask.data();
    int last_row = -1;
    for (int y = 0; y < stripe.grid.rows; y += step, bits += words) {
      const int row = plan_.cell_row(stripe.level, stripe.top + y);
      if (std::exchange(last_row, row) == row) {
        std::copy_n(bits - words, words, bits);
        continue;
      }
      std::fill_n(bits, words, 0);
      for (int c = 0; c < plan_.cells.columns; ++c) {
        if (!(rows[row] & stripe.cells & std::uint64_t{1} << c)) continue;
        for (int k = plan_.first_window(stripe.level, c); k < plan_.end_window(stripe.level, c);
             ++k)
          bits[(k - begin) / 64] |= std::uint64_t{1} << ((k - begin) % 64);
      }
    }
    return {scratch_.mask.data(), words};
  }

  // The sums of the stripe's pixels, as if nothing were above them: windows only take differences.
  // False once the search is stopped.
  bool prepare(ImageView<const std::uint8_t> picture, const Stripe& stripe) {
    const LinearResize& resize = plan_.resizes[stripe.level];
    const int width = stripe.grid.columns + plan_.model.window_width - 1, stride = plan_.stride;
    const int rows = stripe.grid.rows + plan_.model.window_height - 1;
    const ColumnOrder order{stripe.grid.step == 2 ? stride / 2 : 0};
    const int step = stripe.grid.step;
    for (int i = 0; i < (plan_.tilted ? 3 : 2); ++i) std::fill_n(plane(i), stride, 0);
    std::fill_n(scratch_.shorts.data(), stride, 0);
    std::fill_n(in_order(stripe), step * stride, 0);
    std::uint8_t *pixels = scratch_.pixels.data(), *above = pixels + plan_.width;
    std::ptrdiff_t at = 0;
    for (int y = 0; y < rows; ++y, at += stride) {
      if (y % kRowsPerLook == 0 && is_raised(plan_.stop())) return false;
      resize.row(picture, std::min(stripe.top + y, plan_.levels[stripe.level].height - 1),
                 stripe.left, width, pixels);
      integral_squared_row(
          pixels, width, order, plane(0) + at, plane(0) + at + stride, plane(1) + at,
          plane(1) + at + stride,
          {scratch_.shorts.data() + at + stride, in_order(stripe) + step * (at + stride)});
      if (!plan_.tilted) continue;
      integral_tilted_row(pixels, y == 0 ? nullptr : above, width, order,
                          y == 0 ? nullptr : plane(2) + at - stride, plane(2) + at,
                          plane(2) + at + stride);
      std::swap(pixels, above);
    }
    return true;
  }

  const StripePlan& plan_;
  SharedSearch::Scratch& scratch_;
  std::vector<std::unique_ptr<CascadeSearch>> searches_;
};

class PyramidSearcher final : public Searcher {
 public:
  PyramidSearcher(const CascadeModel& model, const SearchPlan& plan)
      : plan_(model, plan), workers_(threads_for(plan.threads)) {
    for (int i = 0; i < workers_.count(); ++i) {
      if (is_raised(plan_.stop())) return;
      threads_.push_back(std::make_unique<StripeSearch>(plan_, static_cast<std::size_t>(i)));
    }
    // A map has at most every second of its columns in a row on, and off between.
    const auto runs = static_cast<std::size_t>((plan_.cells.columns + 1) / 2);
    found_.resize(plan_.stripes.size() * runs);
    stripes_.reserve(plan_.stripes.size() * runs);
  }

  bool search(ImageView<const std::uint8_t> picture, const SearchRegion& band,
              const ActivityMap* active, std::vector<Rect>& out) override {
    stripes_.clear();
    if (active)
      plan_.add_active(*active, stripes_);
    else
      plan_.add_stripes(band, stripes_);
    return search_stripes(picture, out);
  }

  bool search_above(ImageView<const std::uint8_t> picture, int bottom,
                    std::vector<Rect>& out) override {
    stripes_.clear();
    plan_.add_stripes_above(bottom, picture.height, stripes_);
    return search_stripes(picture, out);
  }

  long long windows() const override { return plan_.windows; }

 private:
  bool search_stripes(ImageView<const std::uint8_t> picture, std::vector<Rect>& out) {
    const std::size_t limit = kMaxRawWindows - out.size();
    std::atomic<std::size_t> total = 0;
    std::atomic<bool> out_of_memory = false;
    workers_.run(static_cast<int>(stripes_.size()), [&](int task, int worker) {
      if (total > limit || out_of_memory || is_raised(plan_.stop())) return;
      const std::size_t i = static_cast<std::size_t>(task);
      try {
        const bool all =
            threads_[static_cast<std::size_t>(worker)]->run(picture, stripes_[i], limit, found_[i]);
        total += all ? found_[i].size() : limit + 1;
      } catch (const std::bad_alloc&) {
        out_of_memory = true;
      }
    });
    if (out_of_memory) throw std::bad_alloc();
    if (total > limit || is_raised(plan_.stop())) return false;
    for (std::size_t i = 0; i < stripes_.size(); ++i) {
      for (const RawWindow& w : found_[i]) out.push_back(box_of(w));
    }
    return true;
  }

  int threads_for(int asked) const {
    const long long most = std::max<long long>(static_cast<long long>(plan_.stripes.size()), 1);
    if (asked > 0) return static_cast<int>(std::min<long long>(asked, most));
    const long long pay = std::max(plan_.windows / kWindowsPerThread, 1LL);
    return static_cast<int>(std::min({pay, most, static_cast<long long>(Workers::processors())}));
  }

  Rect box_of(const RawWindow& w) const {
    const float scale = plan_.levels[static_cast<std::size_t>(w.level)].scale;
    return window_box(w.x, w.y, plan_.model.window_width, plan_.model.window_height, scale);
  }

  const StripePlan plan_;
  Workers workers_;
  std::vector<std::unique_ptr<StripeSearch>> threads_;  ///< of each worker
  std::vector<Stripe> stripes_;                         ///< of the band, or of the map
  std::vector<std::vector<RawWindow>> found_;           ///< in each of them
};

}  // namespace

std::unique_ptr<Searcher> make_pyramid_searcher(const CascadeModel& model, const SearchPlan& plan) {
  return std::make_unique<PyramidSearcher>(model, plan);
}

std::unique_ptr<Searcher> make_searcher(ScaleMode mode, const CascadeModel& model,
                                        const SearchPlan& plan) {
  return mode == ScaleMode::kWindow ? make_window_searcher(model, plan)
                                    : make_pyramid_searcher(model, plan);
}

}  // namespace cuface
