#include "models/train/mining.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "kernels/common/guarded.h"
#include "kernels/common/random.h"
#include "kernels/common/training_backend.h"
#include "kernels/common/try.h"
#include "kernels/common/workers.h"
#include "kernels/generated/generated.h"
#include "models/train/gpu_mining.h"
#include "models/train/mining_search.h"
#include "models/xxh64.h"

namespace cuface::train {
namespace {

constexpr std::size_t kPicturesAtOnce = 16, kOnGpuAtOnce = 256, kFewGenerated = 64;
// Of generated pictures each gives at most one in so many samples of a stage.
constexpr std::size_t kGeneratedShare = 64;

/// Of one of so many pictures at most.
std::size_t share_of(std::size_t wanted, std::size_t pictures) {
  return (wanted + pictures - 1) / pictures;
}
/// The same when all of them were looked at `pass` times already. Late stages find windows in few
/// pictures, which then have to give more than their share.
std::size_t share_in_pass(std::size_t share, std::uint64_t pass) { return share << (2 * pass); }

/// Of all windows, the share that passes these stages, by what they say themselves.
double passing(std::span<const BoostedStage> stages) {
  double share = 1;
  for (const BoostedStage& stage : stages) share *= static_cast<double>(stage.false_alarm);
  return share;
}

void step_over(const MiningItem& item, MiningPosition& position) {
  ++(item.generated ? position.next_generated : position.next_picture);
  ++(item.generated ? position.generated : position.pictures);
}

}  // namespace

bool draws_windows(std::span<const BoostedStage> stages) { return is_drawn(passing(stages)); }

double expected_samples(const MiningPosition& looked, std::size_t pictures,
                        const MiningOptions& options, double passing) {
  const double of_picture =
      passing * static_cast<double>(looked.passed) /
      static_cast<double>(std::max<std::uint64_t>(looked.pictures + looked.generated, 1));
  const auto of_generated = static_cast<double>(share_of(options.wanted, kGeneratedShare));
  return static_cast<double>(pictures * kMiningPasses) * of_picture +
         static_cast<double>(options.generated) * std::fmin(of_picture, of_generated);
}

struct Miner::Impl {
  using Picture = std::shared_ptr<const Image<std::uint8_t>>;

  Impl(const FeatureBank& b, Backgrounds& g, const WindowList& p, const MiningOptions& o,
       const GpuMiningMaker& make)
      : bank(b),
        backgrounds(g),
        options(o),
        make_gpu(make),
        workers(o.threads > 0 ? o.threads : Workers::processors()),
        decoders(workers.count()) {
    for (std::size_t i = 0; i < p.count(); ++i) positives.emplace(xxh64(p.at(i)), i);
  }

  std::uint64_t passes() const { return backgrounds.count() * kMiningPasses; }

  /// Most pictures that are looked at together.
  std::size_t at_once() const {
    if (!on_gpu) return kPicturesAtOnce;
    const double fit = options.pixels_at_once * static_cast<double>(backgrounds.count()) /
                       std::fmax(backgrounds.pixels(), 1);
    return static_cast<std::size_t>(std::clamp(fit, 1.0, double{kOnGpuAtOnce}));
  }

  /// The next pictures to look at, from `position` on; none at the end.
  std::vector<MiningItem> next_items(const MiningPosition& position,
                                     std::uint64_t stage_key) const {
    std::vector<MiningItem> items;
    const std::uint64_t count = backgrounds.count();
    const std::size_t most = at_once(), share = share_of(options.wanted, count);
    for (std::uint64_t i = 0; items.size() < most && position.pictures + i < passes(); ++i) {
      const std::uint64_t at = (position.next_picture + i) % passes();
      const std::uint64_t pass = (position.pictures + i) / count;
      items.push_back({false, at % count, at / count, random_at(stage_key, at),
                       is_drawn(passing) ? share_in_pass(share, pass) : options.wanted,
                       std::fmin(1, std::ldexp(taken_share, static_cast<int>(2 * pass)))});
    }
    if (!items.empty()) return items;
    // More, once it shows that many are needed: what is searched too much is for nothing.
    const std::size_t most_generated =
        std::clamp<std::size_t>(position.generated / 2, std::min(most, kFewGenerated), most);
    for (std::uint64_t i = 0;
         items.size() < most_generated && position.generated + i < options.generated; ++i) {
      const std::uint64_t at = position.next_generated + i;
      items.push_back({true, at, at % kMiningPasses, random_at(~stage_key, at),
                       share_of(options.wanted, kGeneratedShare), 1});
    }
    return items;
  }

  /// Pictures, and what is known of them before they are looked at.
  struct Batch {
    std::vector<MiningItem> items;
    std::vector<SearchedPicture> searched;
    std::vector<Result<Picture>> pictures;  ///< null: to be decoded yet
    Status status;                          ///< of the search
  };

  /// Searches them on the GPU, where there is one.
  Batch search(std::vector<MiningItem> of, const StopFlag* stop) {
    Batch batch;
    batch.status = guarded("looking for negatives", [&] {
      batch.items = std::move(of);
      return search(batch, stop);
    });
    return batch;
  }
  Status search(Batch& batch, const StopFlag* stop) {
    const std::vector<MiningItem>& items = batch.items;
    batch.searched = std::vector<SearchedPicture>(items.size());
    batch.pictures = std::vector<Result<Picture>>(items.size(), Picture());
    if (!on_gpu || items.empty()) return {};
    auto& pictures = batch.pictures;
    decoders.run(static_cast<int>(items.size()), [&](int i, int) {
      const std::size_t at = static_cast<std::size_t>(i);
      if (!items[at].generated)
        pictures[at] = guarded("looking for negatives",
                               [&] { return backgrounds.picture(items[at].picture); });
    });
    std::vector<SearchTask> tasks;
    std::vector<std::size_t> item_of;  // for each task
    for (std::size_t i = 0; i < items.size(); ++i) {
      SearchTask task;
      int width = kGeneratedWidth, height = kGeneratedHeight;
      if (items[i].generated) {
        task.generated = items[i].picture;
      } else {
        if (!pictures[i].ok()) continue;  // look() says so, once it is its turn
        task.picture = pictures[i].value()->view();
        task.stays = backgrounds.is_kept(items[i].picture);
        width = task.picture.width;
        height = task.picture.height;
      }
      const MiningPart of_pass(items[i], {bank.width(), bank.height()}, width, height);
      task.dx = of_pass.dx;
      task.dy = of_pass.dy;
      task.factor = of_pass.factor;
      tasks.push_back(task);
      item_of.push_back(i);
    }
    std::vector<SearchedPicture> found;
    CUFACE_TRY(gpu->search(tasks, found, stop));
    for (std::size_t i = 0; i < found.size(); ++i) batch.searched[item_of[i]] = std::move(found[i]);
    return {};
  }

  MinedWindows look(const Batch& batch, std::size_t at, MiningSearch& search) {
    MinedWindows out;
    const MiningItem& item = batch.items[at];
    const SearchedPicture& searched = batch.searched[at];
    const SearchedPicture* on_gpu = searched.is_searched ? &searched : nullptr;
    if (on_gpu && !on_gpu->too_many && on_gpu->boxes.empty()) {
      out.windows = on_gpu->windows;
      return out;
    }
    out.status = guarded("looking for negatives", [&]() -> Status {
      if (item.generated) {
        const bool is_there = searched.generated.view().data != nullptr;
        const Image<std::uint8_t> made =
            is_there ? Image<std::uint8_t>() : generate_background(options.seed, item.picture);
        out = search.look(item, (is_there ? searched.generated : made).view(), on_gpu);
        return out.status;
      }
      CUFACE_TAKE(picture, batch.pictures[at]);
      if (!picture) CUFACE_TRY(cuface::take(backgrounds.picture(item.picture), picture));
      out = search.look(item, picture->view(), on_gpu);
      return out.status;
    });
    return out;
  }

  /// What each of them gave; `searches` are the workers'. `meanwhile` is done besides.
  template <typename Meanwhile>
  Result<std::vector<MinedWindows>> look_at(const Batch& batch, std::vector<MiningSearch>& searches,
                                            const StopFlag* stop, const Meanwhile& meanwhile) {
    if (is_raised(stop)) return cancelled();
    if (batch.status.code() == StatusCode::kOutOfDeviceMemory &&
        options.backend != TrainingBackend::kCuda) {
      // Larger pictures than there is room for: the CPU has the rest of the stage.
      gpu = nullptr;
      on_gpu = false;
    } else {
      CUFACE_TRY(batch.status);
    }
    std::vector<MinedWindows> results(batch.items.size());
    workers.run(static_cast<int>(batch.items.size()) + 1, [&](int i, int worker) {
      if (i == 0) return meanwhile();
      const std::size_t at = static_cast<std::size_t>(i) - 1;
      results[at] = look(batch, at, searches[static_cast<std::size_t>(worker)]);
    });
    return results;
  }

  /// So much of what passes that one look at all backgrounds gives what is wanted: by a few of
  /// them. `meanwhile` is done besides, once.
  template <typename Meanwhile>
  Status estimate_share(std::vector<MiningSearch>& searches, std::uint64_t stage_key,
                        const StopFlag* stop, const Meanwhile& meanwhile) {
    constexpr std::uint64_t kProbes = 64;
    const std::uint64_t count = backgrounds.count(), probes = std::min(count, kProbes);
    double passed = 0;
    for (std::uint64_t i = 0; i < probes;) {
      std::vector<MiningItem> items;
      for (const std::size_t most = at_once(); items.size() < most && i < probes; ++i)
        items.push_back({false, i * count / probes, 0, random_at(stage_key, i), 0, 0});
      if (is_raised(stop)) return cancelled();
      const Batch batch = search(std::move(items), stop);
      const bool is_last = i == probes;
      CUFACE_TAKE(results, look_at(batch, searches, stop, [&] {
                    if (is_last) meanwhile();
                  }));
      for (const MinedWindows& of : results) {
        CUFACE_TRY(of.status);
        passed += of.in_picture;
      }
    }
    const double expected = passed * static_cast<double>(count) / static_cast<double>(probes);
    taken_share = std::fmin(1, static_cast<double>(options.wanted) / std::fmax(expected, 1));
    return {};
  }

  /// For searches of pictures, as options.backend says. Of the first stages little is searched.
  Status choose_processor(std::shared_ptr<const CascadeModel> model) {
    on_gpu = false;
    if (options.backend == TrainingBackend::kCpu || is_drawn(passing)) return {};
    if (!gpu) {
      Result<std::unique_ptr<GpuMining>> made = make_gpu(options.seed);
      if (falls_back(options.backend, made.status())) return {};
      CUFACE_TRY(cuface::take(std::move(made), gpu));
    }
    gpu->use(std::move(model));
    on_gpu = true;
    return {};
  }

  /// What one picture gave, as far as it is wanted and new.
  Status take(const MiningItem& item, const MinedWindows& of, MiningPosition& position,
              WindowList& found) {
    const std::size_t bytes = found.size().pixels();
    for (std::size_t at = 0; at < of.pixels.size() && found.count() < options.wanted; at += bytes) {
      const std::span<const std::uint8_t> window(of.pixels.data() + at, bytes);
      const std::uint64_t hash = of.hashes[at / bytes];
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
    step_over(item, position);
    position.windows += of.windows;
    position.passed += of.passed;
    return {};
  }

  const FeatureBank& bank;
  Backgrounds& backgrounds;
  const MiningOptions options;
  const GpuMiningMaker make_gpu;
  Workers workers, decoders;       ///< those who look, and those of the next batch
  std::unique_ptr<GpuMining> gpu;  ///< once it was needed
  bool on_gpu = false;             ///< this stage
  double passing = 1;              ///< of all windows, through the stages so far
  double taken_share = 1;          ///< of the windows that a search finds, in the first pass
  std::unordered_map<std::uint64_t, std::size_t> positives;
  std::unordered_set<std::uint64_t> seen;
};

Miner::Miner(const FeatureBank& bank, Backgrounds& backgrounds, const WindowList& positives,
             const MiningOptions& options, const GpuMiningMaker& make_gpu)
    : impl_(std::make_unique<Impl>(bank, backgrounds, positives, options, make_gpu)) {}

Miner::~Miner() = default;

bool Miner::was_on_gpu() const { return impl_->on_gpu; }

Status Miner::gather(std::span<const BoostedStage> stages, MiningPosition& position,
                     WindowList& found, const std::function<void()>& progress,
                     const StopFlag* stop) {
  return guarded("looking for negatives", [&]() -> Status {
    Impl& m = *impl_;
    const auto model = std::make_shared<CascadeModel>();
    if (!stages.empty()) CUFACE_TRY(take(make_cascade(m.bank, stages), *model));
    m.passing = passing(stages);
    CUFACE_TRY(m.choose_processor(model));
    m.seen.clear();
    for (std::size_t i = 0; i < found.count(); ++i) m.seen.insert(xxh64(found.at(i)));
    std::vector<MiningSearch> searches;
    for (int i = 0; i < m.workers.count(); ++i) searches.emplace_back(m.bank, *model, m.passing);
    const std::uint64_t stage_key = random_at(m.options.seed, stages.size());
    m.taken_share = 1;
    // Of generated pictures, which come last, each window is taken.
    Impl::Batch batch;
    bool is_searched = false;
    if (!is_drawn(m.passing) && position.pictures < m.passes() &&
        found.count() < m.options.wanted) {
      CUFACE_TRY(m.estimate_share(searches, stage_key, stop, [&] {
        is_searched = m.on_gpu;
        if (is_searched) batch = m.search(m.next_items(position, stage_key), stop);
      }));
      // The same pictures, of which other shares are taken.
      if (is_searched) batch.items = m.next_items(position, stage_key);
    }
    double gain = 0;  // by a picture of the last batch
    while (found.count() < m.options.wanted) {
      if (is_raised(stop)) return cancelled();
      if (!is_searched) batch = m.search(m.next_items(position, stage_key), stop);
      if (batch.items.empty()) break;
      // While the host looks at these a GPU has the next ones, unless it seems that none are
      // needed.
      MiningPosition behind = position;
      for (const MiningItem& item : batch.items) step_over(item, behind);
      const double expected = gain * static_cast<double>(batch.items.size());
      is_searched = m.on_gpu && static_cast<double>(found.count()) + expected <
                                    static_cast<double>(m.options.wanted);
      Impl::Batch next;
      std::vector<MiningItem> items;
      if (is_searched) items = m.next_items(behind, stage_key);
      const auto meanwhile = [&] {
        if (is_searched) next = m.search(std::move(items), stop);
      };
      CUFACE_TAKE(results, m.look_at(batch, searches, stop, meanwhile));
      const std::size_t before = found.count();
      for (std::size_t i = 0; i < batch.items.size() && found.count() < m.options.wanted; ++i) {
        CUFACE_TRY(results[i].status);
        CUFACE_TRY(m.take(batch.items[i], results[i], position, found));
      }
      gain = static_cast<double>(found.count() - before) / static_cast<double>(batch.items.size());
      if (progress) progress();
      batch = std::move(next);
    }
    return {};
  });
}

}  // namespace cuface::train
