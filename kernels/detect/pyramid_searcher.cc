// OpenCV's way: the picture is scaled, the window stays. Levels are cut into stripes of rows, each
// of which is scaled, summed and searched by one thread in scratch of its own, small ones together;
// what they find is joined in the order of levels and rows, so the number of threads does not show.
#include <algorithm>
#include <atomic>
#include <new>
#include <span>
#include <utility>

#include "kernels/common/workers.h"
#include "kernels/detect/searcher.h"
#include "kernels/detect/stripe_plan.h"
#include "kernels/integral/integral.h"

namespace cuface {
namespace {

// A thread pays from so many windows on.
constexpr long long kWindowsPerThread = 1 << 14;

/// What a thread writes.
class StripeSearch {
 public:
  StripeSearch(const StripePlan& plan, std::size_t worker)
      : plan_(plan), scratch_(plan.shared->scratch(worker)) {
    const auto make_room = [](auto& list, std::size_t size) {
      if (list.size() < size) list.resize(size);
    };
    const auto words = static_cast<std::size_t>(plan.plane_words);
    make_room(scratch_.pixels, 2 * static_cast<std::size_t>(summed_columns(plan.width)));
    make_room(scratch_.sums, words * (plan.tilted ? 3 : 2) + kSumPadding);
    make_room(scratch_.shorts, words * 3 + kSumPadding);
    const auto rows = static_cast<std::size_t>(plan.plane_rows);
    make_room(scratch_.mask, rows * static_cast<std::size_t>(plan.mask_words()));
    parts_.reserve(rows / static_cast<std::size_t>(plan.model.window_height));
    for (const SharedSearch::Bound* bound : plan.cascades) {
      searches_.push_back(bound ? std::make_unique<CascadeSearch>(bound->cascade, plan.width,
                                                                  bound->tables, scratch_.waiting,
                                                                  plan.stop())
                                : nullptr);
    }
  }

  /// Stripes of one step, as many as plan.together() says.
  bool run(ImageView<const std::uint8_t> picture, std::span<const Stripe> stripes,
           std::size_t limit, std::vector<RawWindow>& out) {
    out.clear();
    parts_.clear();
    int row = 0;
    for (const Stripe& s : stripes) {
      if (!prepare(picture, s, row)) return false;
      parts_.push_back({s.grid, static_cast<int>(s.level), s.left, s.top, row,
                        s.active ? make_mask(s, row) : WindowMask{}});
      row += plan_.rows_in_planes(s);
    }
    const int step = stripes.front().grid.step;
    return searches_[step == 1 ? 0 : 1]->run(
        {plane(0), plane(1), scratch_.shorts.data(), in_order(step)}, parts_, limit, out);
  }

 private:
  std::uint32_t* plane(int index) { return scratch_.sums.data() + index * plan_.plane_words; }
  std::uint16_t* in_order(int step) {
    return scratch_.shorts.data() + (step == 1 ? 0 : plan_.plane_words);
  }

  WindowMask make_mask(const Stripe& stripe, int first_row) {
    const std::uint64_t* rows = plan_.rows_of(*stripe.active, stripe.level);
    const int step = stripe.grid.step, begin = stripe.left / step;
    const std::ptrdiff_t words = plan_.mask_words();
    std::uint64_t* const mask = scratch_.mask.data() + first_row * words;
    std::uint64_t* bits = mask;
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
    return {mask, words};
  }

  // The sums of the stripe's pixels, from a row of the planes on, as if nothing were above them:
  // windows only take differences. Columns of no pixels come behind, which fill vectors. False once
  // the search is stopped.
  bool prepare(ImageView<const std::uint8_t> picture, const Stripe& stripe, int first_row) {
    const LinearResize& resize = plan_.resizes[stripe.level];
    const int width = stripe.grid.columns + plan_.model.window_width - 1, stride = plan_.stride;
    const int rows = stripe.grid.rows + plan_.model.window_height - 1;
    const ColumnOrder order{stripe.grid.step == 2 ? stride / 2 : 0};
    const int step = stripe.grid.step;
    std::ptrdiff_t at = static_cast<std::ptrdiff_t>(first_row) * stride;
    for (int i = 0; i < (plan_.tilted ? 3 : 2); ++i) std::fill_n(plane(i) + at, stride, 0);
    std::fill_n(scratch_.shorts.data() + at, stride, 0);
    std::fill_n(in_order(step) + step * at, step * stride, 0);
    std::uint8_t *pixels = scratch_.pixels.data(), *above = pixels + summed_columns(plan_.width);
    for (int y = 0; y < rows; ++y, at += stride) {
      if (y % kRowsPerLook == 0 && is_raised(plan_.stop())) return false;
      resize.row(picture, std::min(stripe.top + y, plan_.levels[stripe.level].height - 1),
                 stripe.left, width, pixels);
      integral_squared_row(
          pixels, summed_columns(width), order, plane(0) + at, plane(0) + at + stride,
          plane(1) + at, plane(1) + at + stride,
          {scratch_.shorts.data() + at + stride, in_order(step) + step * (at + stride)});
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
  std::vector<SearchPart> parts_;
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
    tasks_.reserve(plan_.stripes.size() * runs);
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
    tasks_.clear();
    for (std::span<const Stripe> rest = stripes_; !rest.empty();
         rest = rest.subspan(tasks_.back().size()))
      tasks_.push_back(rest.first(plan_.together(rest)));
    workers_.run(static_cast<int>(tasks_.size()), [&](int task, int worker) {
      if (total > limit || out_of_memory || is_raised(plan_.stop())) return;
      const std::size_t i = static_cast<std::size_t>(task);
      try {
        const bool all =
            threads_[static_cast<std::size_t>(worker)]->run(picture, tasks_[i], limit, found_[i]);
        total += all ? found_[i].size() : limit + 1;
      } catch (const std::bad_alloc&) {
        out_of_memory = true;
      }
    });
    if (out_of_memory) throw std::bad_alloc();
    if (total > limit || is_raised(plan_.stop())) return false;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
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
  std::vector<std::span<const Stripe>> tasks_;          ///< of them
  std::vector<std::vector<RawWindow>> found_;           ///< by each task
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
