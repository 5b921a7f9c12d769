#include "models/train/mining_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "kernels/boost/boost.h"
#include "kernels/common/random.h"
#include "kernels/common/try.h"
#include "kernels/detect/searcher.h"
#include "kernels/levels/levels.h"
#include "kernels/pyramid/pyramid.h"
#include "models/train/mining.h"
#include "models/xxh64.h"

namespace cuface::train {
namespace {

constexpr std::size_t kMostOfDrawn = 8;  // so many times what was expected of a picture
constexpr double kLeastPassing = 0.04;   // four stages that each let half through are above
constexpr std::array<double, kMiningPasses> kScaleFactors = {1.1, 1.15, 1.2, 1.25};

/// A window of a level.
struct Candidate {
  std::size_t level;
  int x, y;
  bool passes = false;                   ///< surely, as a search has found it
  const std::uint8_t* pixels = nullptr;  ///< or null: to be read from the picture
};

/// The sizes of one kind of picture, and the scalings to them.
struct PictureLevels {
  int width = 0, height = 0;
  double factor = 0;
  std::vector<Level> levels;
  std::vector<std::unique_ptr<LinearResize>> resizes;
  std::unique_ptr<Searcher> searcher;

  PictureLevels(int w, int h, double f, WindowSize window) : width(w), height(h), factor(f) {
    const LevelQuery query{window.width, window.height, width, height, factor, 0, 0};
    levels = pyramid_levels(query, search_scales(query), 0);
    resizes.resize(levels.size());
  }

  bool fits(int w, int h, double f) const { return w == width && h == height && f == factor; }

  const LinearResize& resize(std::size_t level) {
    std::unique_ptr<LinearResize>& plan = resizes[level];
    if (!plan) {
      plan =
          std::make_unique<LinearResize>(width, height, levels[level].width, levels[level].height);
    }
    return *plan;
  }
};

std::int64_t columns_of(const SearchGrid& grid) {
  return (grid.columns + grid.step - 1) / grid.step;
}
std::int64_t rows_of(const SearchGrid& grid) { return (grid.rows + grid.step - 1) / grid.step; }

}  // namespace

bool is_drawn(double passing) { return passing >= kLeastPassing; }

MiningPart::MiningPart(const MiningItem& item, WindowSize window, int width, int height)
    : dx(width > window.width ? static_cast<int>(item.pass & 1) : 0),
      dy(height > window.height ? static_cast<int>(item.pass >> 1 & 1) : 0),
      factor(kScaleFactors[item.pass]) {}

class MiningSearch::Impl {
 public:
  Impl(const FeatureBank& bank, const CascadeModel& model, double passing)
      : bank_(bank), stages_(model.stages.size()), model_(model), passing_(passing) {}

  MinedWindows look(const MiningItem& item, ImageView<const std::uint8_t> picture,
                    const SearchedPicture* on_gpu) {
    const MiningPart of_pass(item, {bank_.width(), bank_.height()}, picture.width, picture.height);
    const ImageView<const std::uint8_t> part{
        picture.data ? picture.row(of_pass.dy) + of_pass.dx : nullptr, picture.width - of_pass.dx,
        picture.height - of_pass.dy, picture.stride};
    plan(part.width, part.height, of_pass.factor);
    if (is_drawn(passing_)) return look_at_some(item, part, HUGE_VAL);
    MinedWindows out;
    std::vector<Candidate> candidates;
    if (!search(part, on_gpu, candidates, out)) {
      // The share is one of all windows then: of those that pass it is the same.
      const auto windows = static_cast<double>(count_windows(sizes().levels));
      out = look_at_some(item, part, item.share * windows);
      out.in_picture = std::fmax(kMaxRawWindows, passing_ * windows);
      return out;
    }
    out.in_picture = static_cast<double>(out.passed);
    const double wanted = item.share * static_cast<double>(candidates.size());
    const double draw = static_cast<double>(random_at(item.key, ~std::uint64_t{0}) >> 11) * 0x1p-53;
    const std::size_t most =
        std::min({item.quota, static_cast<std::size_t>(wanted + draw), candidates.size()});
    shuffle(item, most, candidates);
    take(part, candidates, most, nullptr, out);
    return out;
  }

 private:
  void plan(int width, int height, double factor) {
    const auto known = std::ranges::find_if(
        plans_, [&](const PictureLevels& plan) { return plan.fits(width, height, factor); });
    if (known == plans_.begin() && known != plans_.end()) return;
    if (!plans_.empty()) plans_.front().searcher.reset();  // it is large
    if (known != plans_.end())
      plans_.splice(plans_.begin(), plans_, known);
    else
      plans_.emplace_front(width, height, factor, WindowSize{bank_.width(), bank_.height()});
    if (plans_.size() > kMiningPasses) plans_.pop_back();
  }
  PictureLevels& sizes() { return plans_.front(); }

  /// All windows. False where more pass than a search keeps.
  bool search(ImageView<const std::uint8_t> part, const SearchedPicture* on_gpu,
              std::vector<Candidate>& out, MinedWindows& result) {
    std::vector<Rect> found;
    if (on_gpu) {
      if (on_gpu->too_many) return false;
      result.windows = on_gpu->windows;
    } else {
      if (!sizes().searcher) {
        sizes().searcher = make_pyramid_searcher(
            model_, {part.width, part.height, sizes().factor, 0, 0, 0, 1, nullptr});
      }
      if (!sizes().searcher->search(part, kWholePicture, nullptr, found)) return false;
      result.windows = sizes().searcher->windows();
    }
    const std::vector<Rect>& boxes = on_gpu ? on_gpu->boxes : found;
    const std::uint8_t* pixels =
        on_gpu && !on_gpu->pixels.empty() ? on_gpu->pixels.data() : nullptr;
    result.passed = static_cast<std::int64_t>(boxes.size());
    std::vector<std::size_t> order(boxes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(
        order, {}, [&](std::size_t i) { return std::tuple(boxes[i].w, boxes[i].y, boxes[i].x); });
    const WindowSize size{bank_.width(), bank_.height()};
    const std::vector<Level>& levels = sizes().levels;
    const auto is_of = [&](const Rect& box, std::size_t level) {
      return level < levels.size() && has_size(box, size.width, size.height, levels[level].scale);
    };
    std::size_t level = 0;
    for (const std::size_t i : order) {  // by level, so that levels are found by going on
      const Rect& box = boxes[i];
      while (level < levels.size() && !is_of(box, level)) ++level;
      if (level == levels.size()) break;
      const float scale = levels[level].scale;
      // Of very small windows two levels may have boxes of one size: then it may be of the other.
      out.push_back({level, level_place(box.x, scale), level_place(box.y, scale),
                     !is_of(box, level + 1), pixels ? pixels + i * size.pixels() : nullptr});
    }
    return true;
  }

  /// Drawn windows: as many as should let item.quota through, and no more than `most`.
  MinedWindows look_at_some(const MiningItem& item, ImageView<const std::uint8_t> part,
                            double most) {
    MinedWindows out;
    const double draws = std::ceil(
        std::fmin(most, static_cast<double>(item.quota) / std::fmax(passing_, kLeastPassing)));
    std::vector<Candidate> candidates;
    draw(item, static_cast<std::size_t>(draws), candidates);
    take(part, candidates, kMostOfDrawn * item.quota, &out.windows, out);
    return out;
  }

  /// Some windows, all as likely.
  void draw(const MiningItem& item, std::size_t draws, std::vector<Candidate>& out) {
    std::vector<std::int64_t> ends;
    std::int64_t all = 0;
    for (const Level& level : sizes().levels) {
      ends.push_back(all += columns_of(level.grid) * rows_of(level.grid));
    }
    if (all == 0) return;
    for (std::size_t i = 0; i < draws; ++i) {
      const std::int64_t at =
          static_cast<std::int64_t>(random_index(item.key, i, static_cast<std::size_t>(all)));
      const std::size_t level =
          static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), at) - ends.begin());
      const SearchGrid& grid = sizes().levels[level].grid;
      const std::int64_t in_level = at - (level == 0 ? 0 : ends[level - 1]);
      out.push_back({level, static_cast<int>(in_level % columns_of(grid)) * grid.step,
                     static_cast<int>(in_level / columns_of(grid)) * grid.step});
    }
  }

  /// The first `most` are any of them: overlapping windows look alike, so those taken are spread.
  static void shuffle(const MiningItem& item, std::size_t most,
                      std::vector<Candidate>& candidates) {
    for (std::size_t i = 0; i < most; ++i)
      std::swap(candidates[i], candidates[i + random_index(item.key, i, candidates.size() - i)]);
  }

  /// Up to `most` of those that pass, in order. With `windows` all count as looked at.
  void take(ImageView<const std::uint8_t> part, const std::vector<Candidate>& candidates,
            std::size_t most, std::int64_t* windows, MinedWindows& out) {
    const WindowSize size{bank_.width(), bank_.height()};
    std::vector<std::uint8_t> read(size.pixels());
    const std::size_t at_once = std::min<std::size_t>(most + 16, 1024);  // that are counted
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const Candidate& candidate = candidates[i];
      const bool is_enough = out.pixels.size() == most * size.pixels();
      if (is_enough && (!windows || i % at_once == 0)) break;
      if (!candidate.pixels) read_window(candidate, part, read.data());
      const std::span<const std::uint8_t> pixels(candidate.pixels ? candidate.pixels : read.data(),
                                                 size.pixels());
      const bool passes = candidate.passes || passes_all(pixels.data());
      if (windows) {
        ++*windows;
        out.passed += passes;
      }
      // To a search flat windows do not pass.
      if (!passes || is_enough || (!candidate.passes && is_flat(pixels, size))) continue;
      out.pixels.insert(out.pixels.end(), pixels.begin(), pixels.end());
      out.hashes.push_back(xxh64(pixels));
    }
  }
  bool passes_all(const std::uint8_t* window) {
    if (stages_ == 0) return true;
    if (!failed_) failed_.emplace(model_);
    return failed_->of(window) == stages_;
  }
  void read_window(const Candidate& c, ImageView<const std::uint8_t> part, std::uint8_t* to) {
    const LinearResize& resize = sizes().resize(c.level);
    for (int y = 0; y < bank_.height(); ++y) {
      resize.row(part, c.y + y, c.x, bank_.width(), to + y * bank_.width());
    }
  }

  const FeatureBank& bank_;
  const std::size_t stages_;
  const CascadeModel& model_;
  const double passing_;
  /// The last one used first: of generated pictures each has the next pass.
  std::list<PictureLevels> plans_;
  std::optional<FailedStages> failed_;
};

MiningSearch::MiningSearch(const FeatureBank& bank, const CascadeModel& model, double passing)
    : impl_(std::make_unique<Impl>(bank, model, passing)) {}
MiningSearch::MiningSearch(MiningSearch&&) noexcept = default;
MiningSearch::~MiningSearch() = default;

MinedWindows MiningSearch::look(const MiningItem& item, ImageView<const std::uint8_t> picture,
                                const SearchedPicture* on_gpu) {
  return impl_->look(item, picture, on_gpu);
}

}  // namespace cuface::train
