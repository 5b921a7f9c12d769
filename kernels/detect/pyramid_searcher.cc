// OpenCV's way: the picture is scaled, the window stays. Levels are cut into stripes of rows, each
// of which is scaled, summed and searched by one thread in scratch of its own; what they find is
// joined in the order of levels and rows, so the number of threads does not show.
#include <algorithm>
#include <atomic>

#include "kernels/common/workers.h"
#include "kernels/detect/levels.h"
#include "kernels/detect/searcher.h"
#include "kernels/integral/integral.h"
#include "kernels/pyramid/pyramid.h"

namespace cuface {
namespace {

// The rows of windows in a stripe: what is scaled and summed twice, a window's height, stays a
// small part, and what is summed stays in the cache.
constexpr int kStripeRows = 128;
// A thread pays from so many windows on.
constexpr long long kWindowsPerThread = 1 << 14;

struct Stripe {
  std::size_t level;
  int top;          ///< in the level's pixels
  SearchGrid grid;  ///< from `top` on
};

/// A stride of an odd number of cache lines, so that rows do not compete for places in the cache.
int stride_for(int width) {
  constexpr int kLine = 16;
  const int lines = (width + kLine - 1) / kLine;
  return (lines | 1) * kLine;
}

/// What all threads read.
struct Plan {
  Plan(const CascadeModel& m, const SearchPlan& plan)
      : model(m), tilted(m.has_tilted()), levels(plan_levels(m, plan)) {
    for (const Level& l : levels) {
      resizes.emplace_back(plan.width, plan.height, l.width, l.height);
      width = std::max(width, l.width);
    }
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const SearchGrid& grid = levels[i].grid;
      add_stripes(i, {0, grid.rows}, stripes);
      windows += static_cast<long long>(grid.columns / grid.step) * (grid.rows / grid.step);
    }
    for (const Stripe& s : stripes) height = std::max(height, s.grid.rows + m.window_height - 1);
    stride = stride_for(width + 2);
    plane_words = static_cast<std::ptrdiff_t>(height + 1) * stride;
    for (const int step : {1, 2}) {
      cascades.push_back(std::make_unique<BoundCascade>(m));
      cascades.back()->bind({stride, 2 * plane_words, step});
    }
  }

  /// Those of some rows of a level; none is higher than the highest of the whole level.
  void add_stripes(std::size_t i, const RowRange& range, std::vector<Stripe>& out) const {
    const SearchGrid& grid = levels[i].grid;
    if (grid.columns == 0) return;
    const int parts = std::max((grid.rows + kStripeRows / 2) / kStripeRows, 1);
    const int rows = (grid.rows + parts * grid.step - 1) / (parts * grid.step) * grid.step;
    for (int top = range.first; top < range.last; top += rows) {
      SearchGrid part = grid;
      part.rows = std::min(rows, range.last - top);
      out.push_back({i, top, part});
    }
  }

  /// Those of a band, in the order of levels and rows.
  void add_stripes(const Band& band, std::vector<Stripe>& out) const {
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
  std::vector<LinearResize> resizes;
  std::vector<Stripe> stripes;
  long long windows = 0;
  int width = 0, height = 0;  ///< of the largest stripe, in pixels
  int stride = 0;
  std::ptrdiff_t plane_words = 0;
  std::vector<std::unique_ptr<BoundCascade>> cascades;  ///< for step 1 and 2
};

/// What a thread writes.
class StripeSearch {
 public:
  explicit StripeSearch(const Plan& plan) : plan_(plan) {
    pixels_.resize(2 * static_cast<std::size_t>(plan.width));
    sums_.resize(static_cast<std::size_t>(plan.plane_words) * (plan.tilted ? 3 : 2) + kSumPadding);
    for (const auto& cascade : plan.cascades) {
      searches_.push_back(std::make_unique<CascadeSearch>(*cascade, plan.width));
    }
  }

  bool run(ImageView<const std::uint8_t> picture, const Stripe& stripe, std::size_t limit,
           std::vector<RawWindow>& out) {
    out.clear();
    prepare(picture, stripe);
    const std::size_t search = stripe.grid.step == 1 ? 0 : 1;
    const bool all = searches_[search]->run({plane(0), plane(1)}, stripe.grid,
                                            static_cast<int>(stripe.level), limit, out);
    for (RawWindow& w : out) w.y += stripe.top;
    return all;
  }

 private:
  std::uint32_t* plane(int index) { return sums_.data() + index * plan_.plane_words; }

  // The sums of the stripe's pixels, as if nothing were above them: windows only take differences.
  void prepare(ImageView<const std::uint8_t> picture, const Stripe& stripe) {
    const LinearResize& resize = plan_.resizes[stripe.level];
    const int width = plan_.levels[stripe.level].width, stride = plan_.stride;
    const int rows = stripe.grid.rows + plan_.model.window_height - 1;
    const ColumnOrder order{stripe.grid.step == 2 ? stride / 2 : 0};
    for (int i = 0; i < (plan_.tilted ? 3 : 2); ++i) std::fill_n(plane(i), stride, 0);
    std::uint8_t *pixels = pixels_.data(), *above = pixels + plan_.width;
    std::ptrdiff_t at = 0;
    for (int y = 0; y < rows; ++y, at += stride) {
      resize.row(picture, std::min(stripe.top + y, plan_.levels[stripe.level].height - 1), pixels);
      integral_squared_row(pixels, width, order, plane(0) + at, plane(0) + at + stride,
                           plane(1) + at, plane(1) + at + stride);
      if (!plan_.tilted) continue;
      integral_tilted_row(pixels, y == 0 ? nullptr : above, width, order,
                          y == 0 ? nullptr : plane(2) + at - stride, plane(2) + at,
                          plane(2) + at + stride);
      std::swap(pixels, above);
    }
  }

  const Plan& plan_;
  std::vector<std::uint8_t> pixels_;  ///< a row and the one above
  std::vector<std::uint32_t> sums_;
  std::vector<std::unique_ptr<CascadeSearch>> searches_;
};

class PyramidSearcher final : public Searcher {
 public:
  PyramidSearcher(const CascadeModel& model, const SearchPlan& plan)
      : plan_(model, plan), workers_(threads_for(plan.threads)) {
    for (int i = 0; i < workers_.count(); ++i) {
      threads_.push_back(std::make_unique<StripeSearch>(plan_));
    }
    found_.resize(plan_.stripes.size());
    stripes_.reserve(plan_.stripes.size());
  }

  bool search(ImageView<const std::uint8_t> picture, const Band& band,
              std::vector<Rect>& out) override {
    stripes_.clear();
    plan_.add_stripes(band, stripes_);
    return search_stripes(picture, out);
  }

  bool search_above(ImageView<const std::uint8_t> picture, int bottom,
                    std::vector<Rect>& out) override {
    stripes_.clear();
    plan_.add_stripes_above(bottom, picture.height, stripes_);
    return search_stripes(picture, out);
  }

 private:
  bool search_stripes(ImageView<const std::uint8_t> picture, std::vector<Rect>& out) {
    const std::size_t limit = kMaxRawWindows - out.size();
    std::atomic<std::size_t> total = 0;
    workers_.run(static_cast<int>(stripes_.size()), [&](int task, int worker) {
      if (total > limit) return;
      const std::size_t i = static_cast<std::size_t>(task);
      const bool all =
          threads_[static_cast<std::size_t>(worker)]->run(picture, stripes_[i], limit, found_[i]);
      total += all ? found_[i].size() : limit + 1;
    });
    if (total > limit) return false;
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

  const Plan plan_;
  Workers workers_;
  std::vector<std::unique_ptr<StripeSearch>> threads_;  ///< of each worker
  std::vector<Stripe> stripes_;                         ///< of the band
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
