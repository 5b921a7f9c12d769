// cuface-train cascade, and what info and resume do with its checkpoints.
#include <cstdio>

#include "kernels/common/try.h"
#include "models/train/cascade_progress.h"
#include "models/train/cascade_run.h"
#include "models/train/command.h"
#include "models/train/job_files.h"

namespace cuface::train {
namespace {

/// Done, or without a tree: then nothing is lost but some windows.
Result<bool> may_go(const Checkpoint& checkpoint) {
  CUFACE_TAKE(job, read_cascade_job(checkpoint));
  return job.end == JobEnd::kAllStages ||
         (job.state.stages.empty() && job.state.begun.trees.empty());
}

int cascade(const std::vector<std::string>& arguments) {
  CascadeJob job;
  CascadeRunOptions run;
  std::vector<Option> options = {
      option("positives", "vec", "PATH", job.inputs.positives,
             "what is to be found: boxes in a list (.csv, .json, imglab's .xml, OpenCV's .txt), "
             "samples (.vec), or a folder of pictures of nothing else"),
      option("negatives", "bg", "PATH", job.inputs.negatives,
             "backgrounds, where there is nothing to find: a folder of pictures, or a list"),
      option("output", "data", "FILE", job.output, "the cascade: .xml (OpenCV's) or .cuface")};
  append(options, settings_options(job.settings));
  append(options, input_options(job.inputs));
  append(options, run_options(run));
  if (const auto status = parse_command_line(
          arguments, kCascadeName, "--positives PATH --negatives PATH --output FILE",
          "Trains a Haar cascade, which OpenCV and cufacedetect load.", options))
    return *status;
  if (const auto status = check_given(options, 3)) return *status;
  for (const Status& status : {validate(job.settings), validate(run)})
    if (!status.ok()) return wrong_usage(status.message());
  for (std::string* path : {&job.inputs.positives, &job.inputs.negatives, &job.output})
    *path = from_root(*path);
  if (run.checkpoint.empty()) run.checkpoint = job.output + ".checkpoint";
  if (const Status status = check_is_free(run.checkpoint, may_go); !status.ok())
    return fail(status);
  job.state = CascadeState(job.settings.size);
  return run_cascade_job(job, run, false);
}

int resume(const Checkpoint& checkpoint, const std::vector<std::string>& arguments) {
  Result<CascadeJob> read = read_cascade_job(checkpoint);
  if (!read.ok()) return fail(read.status());
  CascadeJob& job = read.value();
  CascadeRunOptions run;
  run.checkpoint = checkpoint.path();
  const CascadeSettings before = job.settings;
  std::vector<Option> options = {
      option("positives", nullptr, "PATH", job.inputs.positives, "where the positives are now"),
      option("negatives", nullptr, "PATH", job.inputs.negatives, "where the backgrounds are now"),
      option("output", nullptr, "FILE", job.output, "the cascade"),
      option("stages", "numStages", "N", job.settings.stages, "more stages than before"),
      option("generated", nullptr, "N", job.settings.generated,
             "more backgrounds that a stage may draw")};
  append(options, run_options(run));
  if (const auto status = parse_command_line(
          arguments, "resume", "CHECKPOINT",
          "Goes on with a cascade, to the bytes of an undisturbed run.", options))
    return *status;
  // With fewer, the stages that are there would not be those of an undisturbed run.
  if (job.settings.stages < before.stages)
    return wrong_usage("--stages can only grow: it was " + std::to_string(before.stages));
  if (job.settings.generated < before.generated)
    return wrong_usage("--generated can only grow: it was " + std::to_string(before.generated));
  for (const Status& status : {validate(job.settings), validate(run)})
    if (!status.ok()) return wrong_usage(status.message());
  for (std::string* path : {&job.inputs.positives, &job.inputs.negatives, &job.output})
    *path = from_root(*path);
  return run_cascade_job(job, run, true);
}

Status print(const Checkpoint& checkpoint) {
  CUFACE_TAKE(job, read_cascade_job(checkpoint));
  const CascadeState& state = job.state;
  std::printf("training   Haar cascade\n");
  std::printf("positives  %s\nnegatives  %s\noutput     %s\n", job.inputs.positives.c_str(),
              job.inputs.negatives.c_str(), job.output.c_str());
  const TrainingRecord record = training_record(job);
  for (const TrainingRecord::Line& line : record.lines())
    std::printf("%-20s %s\n", line.name.c_str(), line.value.c_str());
  for (std::size_t i = 0; i < state.stages.size(); ++i) {
    const BoostedStage& stage = state.stages[i];
    std::printf("stage %-3zu  %3zu trees, hit rate %.4f, false alarms %.4f\n", i + 1,
                stage.trees.size(), static_cast<double>(stage.hit_rate),
                static_cast<double>(stage.false_alarm));
  }
  if (job.end == JobEnd::kAllStages) {
    std::printf("done; more stages: cuface-train resume %s --stages N\n",
                checkpoint.path().c_str());
    return {};
  }
  if (job.end == JobEnd::kTooFewNegatives)
    std::printf("ended for want of negatives. %s.\n", more_backgrounds_advice().c_str());
  std::printf("stage %-3zu  begun: %zu of %zu negatives, %zu trees\n", state.stages.size() + 1,
              state.negatives.count(), static_cast<std::size_t>(job.settings.negatives),
              state.begun.trees.size());
  std::printf("to go on   cuface-train resume %s\n", checkpoint.path().c_str());
  return {};
}

}  // namespace

const Command kCascadeCommand = {"cascade", "trains a Haar cascade", cascade};
const Training kCascadeTraining = {kCascadeName, print, resume};

}  // namespace cuface::train
