#include "models/train/mining.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "kernels/common/guarded.h"
#include "kernels/common/random.h"
#include "kernels/common/try.h"
#include "kernels/common/workers.h"
#include "kernels/detect/searcher.h"
#include "kernels/levels/levels.h"
#include "kernels/pyramid/pyramid.h"
#include "models/xxh64.h"

namespace cuface::train {
namespace {

constexpr std::size_t kDrawsForEach = 64;  // with 4 stages at 0.5 four times as many as needed
constexpr std::size_t kPicturesAtOnce = 16;
constexpr std::array<double, kMiningPasses> kScaleFactors = {1.1, 1.15, 1.2, 1.25};
// Of generated pictures each gives at most one in so many samples of a stage.
constexpr std::size_t kGeneratedShare = 64;

/// Of one of so many pictures at most.
std::size_t share_of(std::size_t wanted, std::size_t pictures) {
  return (wanted + pictures - 1) / pictures;
}
/// The same when all of them were looked at `pass` times already. Late stages find windows in few
/// pictures, which then have to give more than their share.
std::size_t share_in_pass(std::size_t share, std::uint64_t pass) { return share << (2 * pass); }

/// One picture to look at.
struct Item {
  bool generated = false;
  std::uint64_t picture = 0, pass = 0;
  std::uint64_t key = 0;  ///< of its draws
  std::size_t quota = 1;
};

struct OfItem {
  Status status;
  std::int64_t windows = 0, passed = 0;
  std::vector<std::uint8_t> pixels;  ///< of the chosen windows
};

/// A window of a level.
struct Candidate {
  std::size_t level;
  int x, y;
};

/// The sizes of one kind of picture, and the scalings to them.
struct PictureLevels {
  int width = 0, height = 0;
  double factor = 0;
  std::vector<Level> levels;
  std::vector<std::unique_ptr<LinearResize>> resizes;
  std::unique_ptr<Searcher> searcher;

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

/// What one worker needs, kept from picture to picture: folders often hold pictures of one size.
class ItemSearch {
 public:
  ItemSearch(const FeatureBank& bank, const CascadeModel* model)
      : bank_(bank), stages_(model->stages.size()), model_(model) {}

  OfItem look(const Item& item, ImageView<const std::uint8_t> picture) {
    // Another pixel to begin with: where the step is 2 these are other windows.
    const int dx = picture.width > bank_.width() ? static_cast<int>(item.pass & 1) : 0;
    const int dy = picture.height > bank_.height() ? static_cast<int>(item.pass >> 1 & 1) : 0;
    const ImageView<const std::uint8_t> part{picture.row(dy) + dx, picture.width - dx,
                                             picture.height - dy, picture.stride};
    plan(part.width, part.height, kScaleFactors[item.pass]);
    const bool draws = stages_ <= kStagesToDraw;
    OfItem drawn;
    if (draws) {
      drawn = look_at_some(item, part);
      const WindowSize size{bank_.width(), bank_.height()};
      const bool enough = drawn.pixels.size() == item.quota * size.pixels();
      if (stages_ == 0 || enough || !drawn.status.ok()) return drawn;
    }
    OfItem out;
    std::vector<Candidate> candidates;
    if (!search(part, candidates, out)) return draws ? drawn : look_at_some(item, part);
    out.status = choose(item, part, candidates, true, out);
    return out;
  }

 private:
  void plan(int width, int height, double factor) {
    if (at_.fits(width, height, factor)) return;
    at_ = {};
    at_.width = width;
    at_.height = height;
    at_.factor = factor;
    const LevelQuery query{bank_.width(), bank_.height(), width, height, factor, 0, 0};
    at_.levels = pyramid_levels(query, search_scales(query), 0);
    at_.resizes.resize(at_.levels.size());
  }

  /// All windows. False where more pass than a search keeps.
  bool search(ImageView<const std::uint8_t> part, std::vector<Candidate>& out, OfItem& result) {
    if (!at_.searcher) {
      at_.searcher = make_pyramid_searcher(
          *model_, {part.width, part.height, at_.factor, 0, 0, 0, 1, nullptr});
    }
    std::vector<Rect> boxes;
    if (!at_.searcher->search(part, kWholePicture, nullptr, boxes)) return false;
    result.windows = at_.searcher->windows();
    result.passed = static_cast<std::int64_t>(boxes.size());
    std::size_t level = 0;
    for (const Rect& box : boxes) {  // by level, so that levels are found by going on
      while (level < at_.levels.size() && !has_size(level, box)) ++level;
      if (level == at_.levels.size()) break;
      const float scale = at_.levels[level].scale;
      out.push_back({level, unscaled(box.x, scale), unscaled(box.y, scale)});
    }
    return true;
  }
  bool has_size(std::size_t level, const Rect& box) const {
    return scaled_side(bank_.width(), at_.levels[level].scale) == box.w &&
           scaled_side(bank_.height(), at_.levels[level].scale) == box.h;
  }
  /// The place in the level that lies at `v` in the picture.
  static int unscaled(int v, float scale) {
    const int near = static_cast<int>(std::lrintf(static_cast<float>(v) / scale));
    for (const int place : {near, near - 1, near + 1}) {
      if (scaled_side(place, scale) == v) return place;
    }
    return near;
  }

  /// Drawn windows; fewer than are wanted where the stages let few through.
  OfItem look_at_some(const Item& item, ImageView<const std::uint8_t> part) {
    OfItem out;
    std::vector<Candidate> candidates;
    draw(item, candidates);
    out.status = choose(item, part, candidates, false, out);
    return out;
  }

  /// Some windows, all as likely.
  void draw(const Item& item, std::vector<Candidate>& out) {
    std::vector<std::int64_t> ends;
    std::int64_t all = 0;
    for (const Level& level : at_.levels) {
      ends.push_back(all += columns_of(level.grid) * rows_of(level.grid));
    }
    if (all == 0) return;
    const std::size_t draws = stages_ == 0 ? 2 * item.quota : kDrawsForEach * item.quota;
    for (std::size_t i = 0; i < draws; ++i) {
      const std::int64_t at =
          static_cast<std::int64_t>(random_index(item.key, i, static_cast<std::size_t>(all)));
      const std::size_t level =
          static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), at) - ends.begin());
      const SearchGrid& grid = at_.levels[level].grid;
      const std::int64_t in_level = at - (level == 0 ? 0 : ends[level - 1]);
      out.push_back({level, static_cast<int>(in_level % columns_of(grid)) * grid.step,
                     static_cast<int>(in_level / columns_of(grid)) * grid.step});
    }
  }

  /// Up to `quota` of those that pass: of drawn ones the first, of all that were found any.
  Status choose(const Item& item, ImageView<const std::uint8_t> part,
                std::vector<Candidate>& candidates, bool searched, OfItem& out) {
    if (searched && candidates.size() > item.quota) {
      // Overlapping windows look alike, so those taken are spread over the picture.
      for (std::size_t i = 0; i < item.quota; ++i) {
        std::swap(candidates[i], candidates[i + random_index(item.key, i, candidates.size() - i)]);
      }
    }
    const WindowSize size{bank_.width(), bank_.height()};
    const std::size_t at_once = 2 * item.quota + 16;
    std::vector<std::uint8_t> pixels;
    for (std::size_t first = 0;
         first < candidates.size() && out.pixels.size() < item.quota * size.pixels();
         first += at_once) {
      const std::size_t count = std::min(at_once, candidates.size() - first);
      pixels.resize(count * size.pixels());
      for (std::size_t i = 0; i < count; ++i) {
        read_window(candidates[first + i], part, pixels.data() + i * size.pixels());
      }
      const std::vector<std::uint8_t> labels(count);
      // Such as a search in other steps would not have found fall out here, and flat ones.
      std::vector<std::uint16_t> failed(count);
      if (stages_ > 0) {
        CUFACE_TRY(take(failed_stages(*model_, {pixels, labels, size.width, size.height}), failed));
      }
      if (!searched) {
        out.windows += static_cast<std::int64_t>(count);
        out.passed += std::count(failed.begin(), failed.end(), stages_);
      }
      for (std::size_t i = 0; i < count && out.pixels.size() < item.quota * size.pixels(); ++i) {
        const std::span window(pixels.data() + i * size.pixels(), size.pixels());
        if (failed[i] == stages_ && !is_flat(window, size)) {
          out.pixels.insert(out.pixels.end(), window.begin(), window.end());
        }
      }
    }
    return {};
  }
  void read_window(const Candidate& c, ImageView<const std::uint8_t> part, std::uint8_t* to) {
    const LinearResize& resize = at_.resize(c.level);
    for (int y = 0; y < bank_.height(); ++y) {
      resize.row(part, c.y + y, c.x, bank_.width(), to + y * bank_.width());
    }
  }

  const FeatureBank& bank_;
  const std::size_t stages_;
  const CascadeModel* const model_;
  PictureLevels at_;
};

}  // namespace

double expected_samples(const MiningPosition& looked, std::size_t pictures,
                        const MiningOptions& options, double passing) {
  const double of_picture =
      passing * static_cast<double>(looked.passed) /
      static_cast<double>(std::max<std::uint64_t>(looked.pictures + looked.generated, 1));
  const auto of_kind = [&](std::uint64_t looks, std::size_t share) {
    return static_cast<double>(looks) * std::fmin(of_picture, static_cast<double>(share));
  };
  double all = of_kind(options.generated, share_of(options.wanted, kGeneratedShare));
  for (std::uint64_t pass = 0; pass < kMiningPasses; ++pass) {
    all += of_kind(pictures, share_in_pass(share_of(options.wanted, pictures), pass));
  }
  return all;
}

struct Miner::Impl {
  Impl(const FeatureBank& b, Backgrounds& g, const WindowList& p, const MiningOptions& o)
      : bank(b),
        backgrounds(g),
        options(o),
        workers(o.threads > 0 ? o.threads : Workers::processors()) {
    for (std::size_t i = 0; i < p.count(); ++i) positives.emplace(xxh64(p.at(i)), i);
  }

  /// The next pictures to look at, from `position` on; none at the end.
  std::vector<Item> next_items(const MiningPosition& position, std::uint64_t stage_key) const {
    std::vector<Item> items;
    const std::uint64_t count = backgrounds.count(), passes = count * kMiningPasses;
    const std::size_t share = share_of(options.wanted, count);
    for (std::uint64_t i = 0; items.size() < kPicturesAtOnce && position.pictures + i < passes;
         ++i) {
      const std::uint64_t at = (position.next_picture + i) % passes;
      items.push_back({false, at % count, at / count, random_at(stage_key, at),
                       share_in_pass(share, (position.pictures + i) / count)});
    }
    if (!items.empty()) return items;
    for (std::uint64_t i = 0;
         items.size() < kPicturesAtOnce && position.generated + i < options.generated; ++i) {
      const std::uint64_t at = position.next_generated + i;
      items.push_back({true, at, at % kMiningPasses, random_at(~stage_key, at),
                       share_of(options.wanted, kGeneratedShare)});
    }
    return items;
  }

  OfItem look(const Item& item, ItemSearch& search) {
    OfItem out;
    out.status = guarded("looking for negatives", [&]() -> Status {
      if (item.generated) {
        const Image<std::uint8_t> picture = generate_background(options.seed, item.picture);
        out = search.look(item, picture.view());
        return out.status;
      }
      CUFACE_TAKE(picture, backgrounds.picture(item.picture));
      out = search.look(item, picture->view());
      return out.status;
    });
    return out;
  }

  /// What one picture gave, as far as it is wanted and new.
  Status take(const Item& item, const OfItem& of, MiningPosition& position, WindowList& found) {
    const std::size_t bytes = found.size().pixels();
    for (std::size_t at = 0; at < of.pixels.size() && found.count() < options.wanted; at += bytes) {
      const std::span<const std::uint8_t> window(of.pixels.data() + at, bytes);
      const std::uint64_t hash = xxh64(window);
      if (const auto it = positives.find(hash); it != positives.end()) {
        return {StatusCode::kInvalidArgument,
                (item.generated ? "generated background " + std::to_string(item.picture)
                                : backgrounds.name(item.picture)) +
                    ": one of its windows is the positive sample " + std::to_string(it->second) +
                    ", pixel for pixel. A background holds nothing that is to be found: take it "
                    "out of one of both"};
      }
      if (seen.insert(hash).second) found.add(window);
    }
    ++(item.generated ? position.next_generated : position.next_picture);
    ++(item.generated ? position.generated : position.pictures);
    position.windows += of.windows;
    position.passed += of.passed;
    return {};
  }

  const FeatureBank& bank;
  Backgrounds& backgrounds;
  const MiningOptions options;
  Workers workers;
  std::unordered_map<std::uint64_t, std::size_t> positives;
  std::unordered_set<std::uint64_t> seen;
};

Miner::Miner(const FeatureBank& bank, Backgrounds& backgrounds, const WindowList& positives,
             const MiningOptions& options)
    : impl_(std::make_unique<Impl>(bank, backgrounds, positives, options)) {}

Miner::~Miner() = default;

Status Miner::gather(std::span<const BoostedStage> stages, MiningPosition& position,
                     WindowList& found, const std::function<void()>& progress,
                     const StopFlag* stop) {
  return guarded("looking for negatives", [&]() -> Status {
    Impl& m = *impl_;
    CascadeModel model;
    if (!stages.empty()) CUFACE_TRY(take(make_cascade(m.bank, stages), model));
    m.seen.clear();
    for (std::size_t i = 0; i < found.count(); ++i) m.seen.insert(xxh64(found.at(i)));
    std::vector<ItemSearch> searches;
    for (int i = 0; i < m.workers.count(); ++i) searches.emplace_back(m.bank, &model);
    const std::uint64_t stage_key = random_at(m.options.seed, stages.size());
    while (found.count() < m.options.wanted) {
      const std::vector<Item> items = m.next_items(position, stage_key);
      if (items.empty()) break;
      if (is_raised(stop)) return cancelled();
      std::vector<OfItem> results(items.size());
      m.workers.run(static_cast<int>(items.size()), [&](int i, int worker) {
        const std::size_t at = static_cast<std::size_t>(i);
        results[at] = m.look(items[at], searches[static_cast<std::size_t>(worker)]);
      });
      for (std::size_t i = 0; i < items.size() && found.count() < m.options.wanted; ++i) {
        CUFACE_TRY(results[i].status);
        CUFACE_TRY(m.take(items[i], results[i], position, found));
      }
      if (progress) progress();
    }
    return {};
  });
}

}  // namespace cuface::train
