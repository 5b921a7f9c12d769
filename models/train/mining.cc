#include "models/train/mining.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory_resource>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "kernels/common/guarded.h"
#include "kernels/common/random.h"
#include "kernels/common/training_backend.h"
#include "kernels/common/try.h"
#include "kernels/common/workers.h"
#include "models/train/gpu_mining.h"
#include "models/train/mining_batch.h"
#include "models/train/mining_search.h"
#include "models/xxh64.h"

namespace cuface::train {
namespace {

constexpr std::size_t kPicturesAtOnce = 16, kOnGpuAtOnce = 256, kFewGenerated = 64;
constexpr std::size_t kBatchesAhead = 2;
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
  Impl(const FeatureBank& b, Backgrounds& g, const WindowList& p, const MiningOptions& o,
       const GpuMiningMaker& make)
      : bank(b),
        backgrounds(g),
        options(o),
        make_gpu(make),
        workers(o.threads > 0 ? o.threads : Workers::processors()),
        batches(b, g, o.seed, workers.count()) {
    for (std::size_t i = 0; i < p.count(); ++i) positives.emplace(xxh64(p.at(i)), i);
  }

  std::uint64_t passes() const { return backgrounds.count() * kMiningPasses; }

  /// For this stage; null: the CPU has its searches.
  GpuMining* searching_gpu() { return on_gpu ? gpu.get() : nullptr; }

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

  void forget_seen() {
    seen.reset();
    seen_memory.release();
    seen.emplace(options.wanted, &seen_memory);
  }

  /// The GPU has these to search while the host looks at those before.
  struct Ahead {
    std::deque<MiningBatch> batches;
    MiningPosition end;  ///< behind the last one that has begun
    std::uint64_t stage_key = 0;
    double gain = 0;           ///< samples of a picture, as far as is known
    std::size_t pictures = 0;  ///< not looked at, of batches that have begun
  };

  /// Nothing is, and `position` is next.
  void forget_ahead(const MiningPosition& position) {
    ahead.batches.clear();
    ahead.pictures = 0;
    ahead.end = position;
  }
  void begin_next(const StopFlag* stop) {
    ahead.batches.push_back(
        batches.begin(next_items(ahead.end, ahead.stage_key), searching_gpu(), stop));
    for (const MiningItem& item : ahead.batches.back().items) step_over(item, ahead.end);
    ahead.pictures += ahead.batches.back().items.size();
  }
  /// Lets the GPU search on, unless what has begun gives enough. Some more than that: a search that
  /// nobody looks at costs little, one that is waited for leaves the host without work.
  void go_ahead(std::size_t missing, const StopFlag* stop) {
    constexpr double kEnough = 1.25;
    const auto can = [&] {
      if (!on_gpu || is_raised(stop) || ahead.batches.size() == kBatchesAhead) return false;
      if (ahead.batches.empty()) return true;
      const MiningBatch& last = ahead.batches.back();
      return last.status.ok() && !last.items.empty();
    };
    while (can() && ahead.gain * static_cast<double>(ahead.pictures) <
                        kEnough * static_cast<double>(missing))
      begin_next(stop);
  }

  /// Pictures that were looked at.
  struct Looked {
    MiningBatch batch;
    std::vector<MinedWindows> results;
    std::size_t given = 0;  ///< windows; no more of them are taken
  };

  /// What each of them gives; `searches` are the workers'. The first tasks are `others`.
  template <typename Others>
  Status look_at(Looked& of, std::vector<MiningSearch>& searches, const StopFlag* stop,
                 int other_tasks, const Others& others) {
    const MiningBatch& batch = of.batch;
    if (is_raised(stop)) return cancelled();
    if (batch.status.code() == StatusCode::kOutOfDeviceMemory &&
        options.backend != TrainingBackend::kCuda) {
      // Larger pictures than there is room for: the CPU has the rest of the stage.
      gpu = nullptr;
      on_gpu = false;
    } else {
      CUFACE_TRY(batch.status);
    }
    const std::vector<std::size_t> order = batch.longest_first();
    of.results.resize(batch.items.size());
    workers.run(static_cast<int>(batch.items.size()) + other_tasks, [&](int i, int worker) {
      if (i < other_tasks) return others(i);
      const std::size_t at = order[static_cast<std::size_t>(i - other_tasks)];
      of.results[at] = batches.look(batch, at, searches[static_cast<std::size_t>(worker)]);
    });
    for (const MinedWindows& result : of.results) of.given += result.hashes.size();
    return {};
  }

  /// So much of what passes that one look at all backgrounds gives what is wanted: by a few of
  /// them. Behind those the GPU searches the first batch.
  Status estimate_share(std::vector<MiningSearch>& searches, const MiningPosition& position,
                        const StopFlag* stop) {
    constexpr std::uint64_t kProbes = 64;
    const std::uint64_t count = backgrounds.count(), probes = std::min(count, kProbes);
    double passed = 0;
    for (std::uint64_t i = 0; i < probes;) {
      std::vector<MiningItem> items;
      for (const std::size_t most = at_once(); items.size() < most && i < probes; ++i)
        items.push_back({false, i * count / probes, 0, random_at(ahead.stage_key, i), 0, 0});
      if (is_raised(stop)) return cancelled();
      Looked probe;
      probe.batch = batches.begin(std::move(items), searching_gpu(), stop);
      if (on_gpu && i == probes && probe.batch.status.ok()) begin_next(stop);
      batches.finish(probe.batch, searching_gpu());
      CUFACE_TRY(look_at(probe, searches, stop, 0, [](int) {}));
      for (const MinedWindows& of : probe.results) {
        CUFACE_TRY(of.status);
        passed += of.in_picture;
      }
    }
    const double of_picture = passed / static_cast<double>(probes);
    const double expected = of_picture * static_cast<double>(count);
    taken_share = std::fmin(1, static_cast<double>(options.wanted) / std::fmax(expected, 1));
    ahead.gain = of_picture * taken_share;
    // The same pictures, of which other shares are taken.
    MiningPosition begin = position;
    for (MiningBatch& batch : ahead.batches) {
      batch.items = next_items(begin, ahead.stage_key);
      for (const MiningItem& item : batch.items) step_over(item, begin);
    }
    return {};
  }

  /// For searches of pictures, as options.backend says. Of the first stages little is searched.
  Status choose_processor(std::shared_ptr<const CascadeModel> model) {
    on_gpu = false;
    if (options.backend == TrainingBackend::kCpu || is_drawn(passing)) return {};
    if (!gpu) {
      CUFACE_TAKE(is_made, take_or_fall_back(options.backend, make_gpu(options.seed), gpu));
      if (!is_made) return {};
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
      if (seen->insert(hash).second) found.add(window);
    }
    step_over(item, position);
    position.windows += of.windows;
    position.passed += of.passed;
    return {};
  }

  /// What these gave, which are none from then on.
  Status take(Looked& all, MiningPosition& position, WindowList& found) {
    const Looked of = std::move(all);
    all = {};
    return guarded("looking for negatives", [&]() -> Status {
      for (std::size_t i = 0; i < of.results.size() && found.count() < options.wanted; ++i) {
        CUFACE_TRY(of.results[i].status);
        CUFACE_TRY(take(of.batch.items[i], of.results[i], position, found));
      }
      return {};
    });
  }

  const FeatureBank& bank;
  Backgrounds& backgrounds;
  const MiningOptions options;
  const GpuMiningMaker make_gpu;
  Workers workers;  ///< those who look
  MiningBatches batches;
  std::unique_ptr<GpuMining> gpu;  ///< once it was needed
  bool on_gpu = false;             ///< this stage
  double passing = 1;              ///< of all windows, through the stages so far
  double taken_share = 1;          ///< of the windows that a search finds, in the first pass
  Ahead ahead;
  std::unordered_map<std::uint64_t, std::size_t> positives;
  /// Of the hashes taken, which all go at once: one by one they take a while.
  std::pmr::monotonic_buffer_resource seen_memory;
  std::optional<std::pmr::unordered_set<std::uint64_t>> seen;
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
    m.forget_seen();
    found.reserve(m.options.wanted);
    for (std::size_t i = 0; i < found.count(); ++i) m.seen->insert(xxh64(found.at(i)));
    std::vector<MiningSearch> searches;
    for (int i = 0; i < m.workers.count(); ++i) searches.emplace_back(m.bank, *model, m.passing);
    m.taken_share = 1;
    m.ahead = {};
    m.ahead.end = position;
    m.ahead.stage_key = random_at(m.options.seed, stages.size());
    const auto missing = [&] {
      return m.options.wanted - std::min(m.options.wanted, found.count());
    };
    // Of generated pictures, which come last, each window is taken.
    if (!is_drawn(m.passing) && position.pictures < m.passes() && missing() > 0)
      CUFACE_TRY(m.estimate_share(searches, position, stop));
    // The first batch is on its way: the GPU is not to wait for the look at it.
    m.go_ahead(missing(), stop);
    // Windows are taken while the next pictures are looked at, where it is sure that these have to.
    Impl::Looked last;
    while (missing() > 0) {
      if (is_raised(stop)) return cancelled();
      if (!m.on_gpu) m.forget_ahead(position);
      if (m.ahead.batches.empty()) m.begin_next(stop);
      Impl::Looked next;
      next.batch = std::move(m.ahead.batches.front());
      m.ahead.batches.pop_front();
      if (next.batch.items.empty()) {
        CUFACE_TRY(m.take(last, position, found));
        break;
      }
      m.batches.finish(next.batch, m.searching_gpu());
      Status taken;
      const std::size_t now_missing = missing() - last.given;
      CUFACE_TRY(m.look_at(next, searches, stop, 2, [&](int i) {
        if (i == 0)
          m.go_ahead(now_missing, stop);
        else
          taken = m.take(last, position, found);
      }));
      CUFACE_TRY(taken);
      m.ahead.pictures -= next.results.size();
      m.ahead.gain = static_cast<double>(next.given) / static_cast<double>(next.results.size());
      last = std::move(next);
      // Its pictures may be large, and taking wants the windows alone.
      last.batch.pictures.clear(), last.batch.searched.clear();
      if (!m.on_gpu || last.given >= missing()) CUFACE_TRY(m.take(last, position, found));
      if (progress) progress();
    }
    return {};
  });
}

}  // namespace cuface::train
