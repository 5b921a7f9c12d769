#include "models/train/cascade_training.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "kernels/common/guarded.h"
#include "kernels/common/try.h"
#include "models/train/progress.h"

namespace cuface::train {
namespace {

Status invalid(const std::string& why) { return {StatusCode::kInvalidArgument, why}; }

/// The windows that a stage learns from: positives that pass the stages before, then negatives.
struct StageSamples {
  std::vector<std::uint8_t> pixels, labels;

  void add(std::span<const std::uint8_t> window, std::uint8_t label) {
    pixels.insert(pixels.end(), window.begin(), window.end());
    labels.push_back(label);
  }
  std::size_t count() const { return labels.size(); }
};

class CascadeTrainer {
 public:
  CascadeTrainer(const CascadeSettings& settings, const FeatureBank& bank,
                 const WindowList& positives, Backgrounds& backgrounds, const CascadeRun& run,
                 CascadeState& state)
      : settings_(settings),
        bank_(bank),
        positives_(positives),
        run_(run),
        state_(state),
        miner_(bank, backgrounds, positives,
               {settings.seed, settings.negatives, settings.generated, run.threads, run.backend}) {}

  Result<CascadeEnd> train() {
    while (state_.stages.size() < static_cast<std::size_t>(settings_.stages)) {
      if (state_.records.size() == state_.stages.size()) state_.records.emplace_back();
      if (state_.negatives.count() < settings_.negatives) {
        CUFACE_TRY(mine());
        if (state_.negatives.count() < settings_.negatives) return CascadeEnd::kTooFewNegatives;
        watch(CascadeStep::kMined);
      }
      CUFACE_TRY(boost());
    }
    return CascadeEnd::kAllStages;
  }

 private:
  StageRecord& record() { return state_.records.back(); }
  void watch(CascadeStep step) const {
    if (run_.watch) run_.watch(state_, step);
  }

  Status mine() {
    const Every began(0);
    const double before = record().mining_seconds;
    const auto note = [&] {
      record().mining_seconds = before + began.since();
      record().mining = state_.position;
      record().negatives = static_cast<std::uint32_t>(state_.negatives.count());
    };
    const auto progress = [&] {
      note();
      watch(CascadeStep::kMining);
    };
    const Status status =
        miner_.gather(state_.stages, state_.position, state_.negatives, progress, run_.stop);
    note();
    record().mined_on_gpu = miner_.was_on_gpu();
    return status;
  }

  Result<StageSamples> samples() const {
    StageSamples out;
    const std::vector<std::uint8_t> labels(positives_.count(), 1);
    std::vector<std::uint16_t> failed(positives_.count());
    if (!state_.stages.empty()) {
      CUFACE_TAKE(model, make_cascade(bank_, state_.stages));
      CUFACE_TRY(
          take(failed_stages(model, {positives_.pixels(), labels, bank_.width(), bank_.height()}),
               failed));
    }
    for (std::size_t i = 0; i < positives_.count(); ++i)
      if (failed[i] == state_.stages.size()) out.add(positives_.at(i), 1);
    if (out.count() < kFewestPositives) {
      return invalid(std::to_string(out.count()) + " of " + std::to_string(positives_.count()) +
                     " positive samples are left for stage " +
                     std::to_string(state_.stages.size() + 1) + ", less than " +
                     std::to_string(kFewestPositives) +
                     "; give more of them, or a higher --min-hit-rate");
    }
    for (std::size_t i = 0; i < state_.negatives.count(); ++i) out.add(state_.negatives.at(i), 0);
    return out;
  }

  Status boost() {
    CUFACE_TAKE(all, samples());
    record().positives = static_cast<std::uint32_t>(all.count() - state_.negatives.count());
    const Every began(0);
    const double before = record().boosting_seconds;
    StageRun run;
    run.threads = run_.threads;
    run.memory = run_.memory;
    run.backend = run_.backend;
    run.device_memory = run_.device_memory;
    run.kept = &stage_memory_;
    run.stop = run_.stop;
    run.watch = [&](const BoostedStage& stage) {
      state_.begun = stage;
      record().boosting_seconds = before + began.since();
      watch(CascadeStep::kBoosting);
    };
    StageCost cost;
    Result<BoostedStage> stage =
        train_stage(bank_, {all.pixels, all.labels, bank_.width(), bank_.height()}, settings_.boost,
                    run, state_.begun, &cost);
    record().boosting_seconds = before + began.since();
    record().prepare_seconds += cost.prepare_seconds;
    record().search_seconds += cost.search_seconds;
    record().bytes = std::max<std::uint64_t>(record().bytes, cost.bytes);
    record().on_gpu = cost.on_gpu;
    CUFACE_TRY(stage.status());
    state_.stages.push_back(std::move(stage.value()));
    state_.begun = {};
    state_.negatives.clear();
    state_.position.next_stage();
    watch(CascadeStep::kStage);
    return {};
  }

  const CascadeSettings& settings_;
  const FeatureBank& bank_;
  const WindowList& positives_;
  const CascadeRun& run_;
  CascadeState& state_;
  std::unique_ptr<StageMemory> stage_memory_;
  Miner miner_;
};

}  // namespace

Status validate(const CascadeSettings& settings) {
  CUFACE_TRY(check_window_size(settings.size));
  if (settings.stages < 1 || settings.stages > static_cast<int>(kMaxCascadeStages))
    return invalid("--stages must be 1 to " + std::to_string(kMaxCascadeStages));
  if (settings.negatives < 1 || settings.negatives >= kMostTrainingSamples)
    return invalid("--negatives-per-stage must be 1 to " +
                   std::to_string(kMostTrainingSamples - 1));
  return validate(settings.boost);
}

Result<CascadeEnd> train_cascade(const CascadeSettings& settings, const FeatureBank& bank,
                                 const WindowList& positives, Backgrounds& backgrounds,
                                 const CascadeRun& run, CascadeState& state) {
  CUFACE_TRY(validate(settings));
  if (positives.count() < kFewestPositives) {
    return invalid(std::to_string(positives.count()) +
                   " positive samples are too few: " + std::to_string(kFewestPositives) +
                   " are needed, and 1,000 or more make a useful cascade");
  }
  if (positives.count() + settings.negatives > kMostTrainingSamples) {
    return invalid(std::to_string(positives.count()) + " positive and " +
                   std::to_string(settings.negatives) +
                   " negative samples of a stage are more than " +
                   std::to_string(kMostTrainingSamples) + "; lower --negatives-per-stage");
  }
  return guarded("training", [&]() -> Result<CascadeEnd> {
    CascadeTrainer trainer(settings, bank, positives, backgrounds, run, state);
    return trainer.train();
  });
}

}  // namespace cuface::train
