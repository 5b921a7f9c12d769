#include "models/train/cascade_run.h"

#include <nlohmann/json.hpp>

#include "kernels/common/try.h"
#include "models/cascade_writer.h"
#include "models/provenance.h"
#include "models/train/cascade_progress.h"
#include "models/train/command.h"
#include "models/train/job_files.h"
#include "models/train/samples.h"
#include "models/xxh64.h"

namespace cuface::train {
namespace {

/// What is learnt from.
struct Loaded {
  Samples positives;
  std::unique_ptr<Backgrounds> backgrounds;
};

class JobRunner {
 public:
  JobRunner(CascadeJob& job, const CascadeRunOptions& options, bool resumed)
      : job_(job),
        options_(options),
        resumed_(resumed),
        run_(options, [this] { return write_cascade_checkpoint(options_.checkpoint, job_); }) {}

  /// The exit status, or what went wrong.
  Result<int> work() {
    CUFACE_TRY(check_output("a cascade", job_.output, {".xml", ".cuface"}));
    const Every loading(0);
    CUFACE_TAKE(loaded, load());
    load_seconds_ = loading.since();
    CUFACE_TAKE(bank, FeatureBank::create(job_.settings.size.width, job_.settings.size.height,
                                          job_.settings.features, job_.settings.weights));
    run_.progress().tell(std::to_string(loaded.positives.windows.count()) + " positives, " +
                         std::to_string(loaded.backgrounds->count()) + " backgrounds with " +
                         as_count(loaded.backgrounds->pixels()) + " pixels, " +
                         std::to_string(bank.count()) + " features");
    job_.end = JobEnd::kNotYet;
    CUFACE_TRY(run_.save());  // what cannot be written is known before hours have gone
    const Result<CascadeEnd> end = train(bank, loaded);
    if (!end.ok()) {
      CUFACE_TRY(run_.keep(end.status()));
      CUFACE_TRY(write_report());
      return run_.tell_stopped("all that was trained");
    }
    job_.end =
        end.value() == CascadeEnd::kAllStages ? JobEnd::kAllStages : JobEnd::kTooFewNegatives;
    CUFACE_TRY(write_output(bank));
    CUFACE_TRY(run_.save());
    CUFACE_TRY(write_report());
    return tell_end();
  }

 private:
  Result<Loaded> load() {
    CascadeInputs& in = job_.inputs;
    const WindowSize size = job_.settings.size;
    CUFACE_TAKE(positives, load_samples(in.positives,
                                        {size, in.skip_bad, in.align, in.mirror, options_.threads},
                                        run_.stop()));
    CUFACE_TAKE(backgrounds,
                Backgrounds::open(in.negatives,
                                  {size, in.skip_bad, options_.threads, options_.memory_mib << 20},
                                  positives.names, run_.stop()));
    for (const std::string& note : positives.notes) run_.progress().warn(note);
    for (const std::string& note : backgrounds->notes()) run_.progress().warn(note);
    const std::uint64_t hashes[] = {xxh64(positives.windows.pixels()), backgrounds->hash()};
    if (resumed_) {
      CUFACE_TRY(expect_same("positives", in.positives, in.positives_hash, hashes[0]));
      CUFACE_TRY(expect_same("negatives", in.negatives, in.negatives_hash, hashes[1]));
    }
    in.positives_hash = hashes[0];
    in.negatives_hash = hashes[1];
    in.positives_count = positives.windows.count();
    in.negatives_count = backgrounds->count();
    return Loaded{std::move(positives), std::move(backgrounds)};
  }
  Result<CascadeEnd> train(const FeatureBank& bank, const Loaded& loaded) {
    CascadeProgress told(job_.settings, loaded.backgrounds->count(), run_.progress());
    CascadeRun run;
    run.threads = options_.threads;
    run.memory = options_.memory_mib << 20;
    run.backend = options_.backend;
    run.device_memory = options_.gpu_memory_mib << 20;
    run.stop = run_.stop();
    run.watch = [&](const CascadeState& state, CascadeStep step) {
      run_.save_now_and_then(step == CascadeStep::kStage || step == CascadeStep::kMined);
      told.step(state, step);
    };
    return train_cascade(job_.settings, bank, loaded.positives.windows, *loaded.backgrounds, run,
                         job_.state);
  }

  Status write_output(const FeatureBank& bank) const {
    if (job_.state.stages.empty()) return {};
    CUFACE_TAKE(model, make_cascade(bank, job_.state.stages));
    return write_cascade(job_.output, model,
                         trained_provenance(job_.output, training_record(job_)));
  }

  Status write_report() const { return run_.write_report(job_report(job_), load_seconds_); }

  int tell_end() {
    const std::size_t stages = job_.state.stages.size();
    std::size_t trees = 0;
    double hit_rate = 1;
    for (const BoostedStage& stage : job_.state.stages) {
      trees += stage.trees.size();
      hit_rate *= static_cast<double>(stage.hit_rate);
    }
    if (stages > 0) {
      std::printf(
          "%s: written (Haar cascade, %zu stages, %zu trees; hit rate of the positives "
          "%.4f)\n",
          job_.output.c_str(), stages, trees, hit_rate);
    }
    if (job_.end == JobEnd::kAllStages) return kDone;
    const StageRecord& record = job_.state.records.back();
    run_.progress().warn("stage " + std::to_string(stages + 1) + " found only " +
                         std::to_string(record.negatives) + " of " +
                         std::to_string(job_.settings.negatives) +
                         " negatives in all backgrounds, so the training ended" +
                         (stages > 0 ? "; the stages before are written" : "; nothing is written") +
                         ". " + more_backgrounds_advice());
    return kStoppedEarly;
  }

  CascadeJob& job_;
  const CascadeRunOptions& options_;
  const bool resumed_;
  JobRun run_;
  double load_seconds_ = 0;
};

}  // namespace

std::vector<Option> run_options(CascadeRunOptions& run) {
  std::vector<Option> options = run_options(static_cast<RunOptions&>(run), "numThreads",
                                            "write times, rates and memory as JSON");
  const std::vector<Option> own = {
      backend_option(run.backend,
                     "processor of boosting and searches; auto takes a GPU that has enough memory"),
      option("memory", nullptr, "MIB", run.memory_mib,
             "memory for sorted features, and as much for backgrounds"),
      option("gpu-memory", nullptr, "MIB", run.gpu_memory_mib,
             "the GPU's memory for sorted features (0: most of what is free)")};
  options.insert(options.end() - 1, own.begin(), own.end());
  return options;
}

Status validate(const CascadeRunOptions& run) {
  CUFACE_TRY(validate(static_cast<const RunOptions&>(run)));
  for (const std::uint64_t mib : {run.memory_mib, run.gpu_memory_mib}) {
    if (mib > std::uint64_t{1} << 30)
      return {StatusCode::kInvalidArgument, "--memory and --gpu-memory must be MiB, to 2^30"};
  }
  return {};
}

int run_cascade_job(CascadeJob& job, const CascadeRunOptions& run, bool resumed) {
  JobRunner runner(job, run, resumed);
  return exit_status(runner.work());
}

}  // namespace cuface::train
