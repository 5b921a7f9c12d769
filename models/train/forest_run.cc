#include "models/train/forest_run.h"

#include <nlohmann/json.hpp>

#include "kernels/common/try.h"
#include "models/train/command.h"
#include "models/train/job_files.h"
#include "models/train/small_model.h"

namespace cuface::train {
namespace {

class JobRunner {
 public:
  JobRunner(ForestJob& job, const ForestRunOptions& options, bool resumed)
      : job_(job),
        options_(options),
        resumed_(resumed),
        run_(options, [this] { return write_forest_checkpoint(options_.checkpoint, job_); }) {}

  /// The exit status, or what went wrong.
  Result<int> work() {
    for (const std::string& output : {job_.output, job_.five})
      if (!output.empty())
        CUFACE_TRY(check_output("a landmark model", output, {".dat", ".cuface"}));
    const Every loading(0);
    CUFACE_TRY(load());
    load_seconds_ = loading.since();
    CUFACE_TRY(run_.save());  // what cannot be written is known before hours have gone
    if (const Status five = train_five(); !five.ok()) return stopped(five);
    Result<TrainedForest> trained = train();
    if (!trained.ok()) return stopped(trained.status());
    job_.forest = std::move(trained.value().forest);
    job_.done = true;
    CUFACE_TRY(write_forest(job_, trained.value().model));
    CUFACE_TRY(run_.save());
    CUFACE_TRY(write_report(trained.value()));
    tell_end(trained.value());
    return kDone;
  }

 private:
  Status load() {
    ForestInputs& in = job_.inputs;
    FaceOptions options = in.faces;
    options.threads = options_.threads;
    CUFACE_TRY(take(load_faces(in.images, options, run_.stop()), faces_));
    tell(faces_, in.images);
    if (!job_.five.empty() && faces_.landmarks != 68) {
      return {StatusCode::kInvalidArgument, "--five takes 5 of 68 points; the faces of " +
                                                in.images + " have " +
                                                std::to_string(faces_.landmarks)};
    }
    const std::uint64_t hash = faces_.hash();
    if (resumed_) CUFACE_TRY(expect_same("images", in.images, in.images_hash, hash));
    in.images_hash = hash;
    in.images_count = faces_.boxes.size();
    if (in.validation.empty()) return {};
    options.mirror = false;
    options.weights.clear();
    options.points = faces_.landmarks;
    CUFACE_TRY(take(load_faces(in.validation, options, run_.stop()), validation_));
    tell(validation_, in.validation);
    const std::uint64_t validation = validation_.hash();
    if (resumed_)
      CUFACE_TRY(expect_same("validation", in.validation, in.validation_hash, validation));
    in.validation_hash = validation;
    in.validation_count = validation_.boxes.size();
    return {};
  }
  void tell(const FaceSet& set, const std::string& path) {
    for (const std::string& note : set.notes) run_.progress().warn(note);
    run_.progress().tell(path + ": " + std::to_string(set.boxes.size()) + " faces of " +
                         std::to_string(set.landmarks) + " points in " +
                         std::to_string(set.pictures.size()) + " pictures");
  }

  ForestWatch new_watch(const std::string& output) const {
    ForestWatch watch;
    watch.threads = options_.threads;
    watch.backend = options_.backend;
    watch.stop = run_.stop();
    watch.patience = job_.inputs.patience;
    watch.spreads = output.ends_with(".cuface");  // dlib's file has no place for them
    return watch;
  }
  FaceSet* validation() { return job_.inputs.validation.empty() ? nullptr : &validation_; }

  void tell(const std::string& what, const StageError& error) {
    run_.progress().tell(
        what + "stage " + std::to_string(error.stage) + " done: mean error " +
        as_percent(error.training) + " of the distance between the eyes" +
        (error.validation < 0 ? "" : ", of validation " + as_percent(error.validation)));
  }

  Result<int> stopped(const Status& ended) {
    CUFACE_TRY(run_.keep(ended));
    const std::size_t trees = job_.forest.trees(job_.options);
    return run_.tell_stopped(trees > 0 ? std::to_string(trees) + " trees" : "no tree yet");
  }

  /// The model of five points, which takes little time: a training stopped in it begins it again.
  Status train_five() {
    if (job_.five.empty() || job_.five_done) return {};
    const Every since(0);
    FaceSet small = with_five_points(faces_),
            others = validation() ? with_five_points(validation_) : FaceSet();
    const ForestJob job{small_options(job_.options), job_.inputs, job_.five, true, {}};
    ForestWatch watch = new_watch(job.output);
    watch.stage = [&](const GrownForest&, const StageError& error) {
      tell("five points: ", error);
    };
    const Result<TrainedForest> trained =
        train_forest(small, validation() ? &others : nullptr, job.options, watch);
    faces_.pictures = std::move(small.pictures);
    if (validation()) validation_.pictures = std::move(others.pictures);
    CUFACE_TRY(trained.status());
    CUFACE_TRY(write_forest(job, trained.value().model));
    job_.five_done = true;
    five_seconds_ = since.since();
    tell_written(job.output, *trained.value().model);
    return {};
  }

  Result<TrainedForest> train() {
    const ForestOptions& options = job_.options;
    const auto per_stage = static_cast<std::size_t>(options.num_trees_per_cascade_level);
    const std::size_t all = per_stage * static_cast<std::size_t>(options.cascade_depth);
    const std::size_t begun = job_.forest.trees(options);
    const Every since(0);
    ForestWatch watch = new_watch(job_.output);
    watch.tree = [&](const GrownForest& forest) {
      const std::size_t trees = forest.trees(options);
      const double seconds = since.since() / static_cast<double>(trees - begun);
      run_.progress().update([&] {
        return "stage " + std::to_string((trees - 1) / per_stage + 1) + " of " +
               std::to_string(options.cascade_depth) + ", tree " +
               std::to_string((trees - 1) % per_stage + 1) + " of " + std::to_string(per_stage) +
               "; " + as_duration(seconds) + " a tree, " +
               as_duration(seconds * static_cast<double>(all - trees)) + " left";
      });
      add_new_trees(forest);
      run_.save_now_and_then(false);
    };
    watch.stage = [&](const GrownForest&, const StageError& error) { tell("", error); };
    return train_forest(faces_, validation(), options, watch, job_.forest, &cost_);
  }

  /// What is so far, in the job: a copy of all of it after each tree would take longer than trees.
  void add_new_trees(const GrownForest& forest) {
    GrownForest& to = job_.forest;
    if (to.mean_shape.empty())
      to.mean_shape = forest.mean_shape, to.anchors = forest.anchors, to.deltas = forest.deltas;
    const auto append = [](const auto& from, auto& list) {
      list.insert(list.end(), from.begin() + static_cast<std::ptrdiff_t>(list.size()), from.end());
    };
    append(forest.splits, to.splits);
    append(forest.leaves, to.leaves);
  }

  Status write_report(const TrainedForest& trained) const {
    nlohmann::json report = {{"training", kForestName},
                             {"output", job_.output},
                             {"end", trained.early ? "validation" : "all stages"},
                             {"stages_of_model", trained.model->stages},
                             {"prepare_seconds", cost_.prepare_seconds},
                             {"search_seconds", cost_.search_seconds},
                             {"growing_seconds", cost_.total_seconds},
                             {"sample_bytes", cost_.bytes},
                             {"growing_on_gpu", cost_.on_gpu},
                             {"stages", nlohmann::json::array()}};
    if (five_seconds_ > 0) report["five_points_seconds"] = five_seconds_;
    const TrainingRecord record = training_record(job_);
    for (const TrainingRecord::Line& line : record.lines())
      report["settings"][line.name] = line.value;
    for (const StageError& error : trained.errors) {
      nlohmann::json stage = {{"stage", error.stage}, {"training_error", error.training}};
      if (error.validation >= 0) stage["validation_error"] = error.validation;
      report["stages"].push_back(std::move(stage));
    }
    return run_.write_report(std::move(report), load_seconds_);
  }

  void tell_end(const TrainedForest& trained) {
    run_.progress().tell("trees grew in " + as_duration(cost_.search_seconds) +
                         (cost_.on_gpu ? " on the GPU" : " on the CPU"));
    if (trained.early)
      run_.progress().tell("ended early: " + std::to_string(job_.inputs.patience) +
                           " stages without a smaller error of validation");
    if (!job_.inputs.faces.detector.empty() && job_.output.ends_with(".dat")) {
      run_.progress().warn(
          "a .dat file does not tell that its boxes are of our detector: cufacelandmark would move "
          "them as dlib's models want it. Write .cuface for it");
    }
    tell_written(job_.output, *trained.model);
  }
  static void tell_written(const std::string& output, const ForestModel& model) {
    std::printf("%s: written (landmark model, %d points, %d stages of %d trees)\n", output.c_str(),
                model.landmarks, model.stages, model.trees);
  }

  ForestJob& job_;
  const ForestRunOptions& options_;
  const bool resumed_;
  JobRun run_;
  FaceSet faces_, validation_;
  ForestCost cost_;
  double load_seconds_ = 0, five_seconds_ = 0;
};

}  // namespace

std::vector<Option> run_options(ForestRunOptions& run) {
  std::vector<Option> options =
      run_options(static_cast<RunOptions&>(run), nullptr, "write times, errors and memory as JSON");
  options.insert(options.end() - 1,
                 backend_option(run.backend,
                                "processor that grows trees; auto takes a GPU with enough memory"));
  return options;
}

int run_forest_job(ForestJob& job, const ForestRunOptions& run, bool resumed) {
  JobRunner runner(job, run, resumed);
  return exit_status(runner.work());
}

}  // namespace cuface::train
