// cuface-train forest, and what info and resume do with its checkpoints.
#include <cstdio>

#include "kernels/common/try.h"
#include "models/train/command.h"
#include "models/train/forest_run.h"
#include "models/train/job_files.h"

namespace cuface::train {
namespace {

Status validate(const ForestInputs& in) {
  if (in.faces.points < 0 || in.faces.points > kMaxLandmarks)
    return {StatusCode::kInvalidArgument, "--points must be 0 to " + std::to_string(kMaxLandmarks)};
  if (in.patience < 1) return {StatusCode::kInvalidArgument, "--patience must be 1 or more"};
  return {};
}

/// Done, or without a tree.
Result<bool> may_go(const Checkpoint& checkpoint) {
  CUFACE_TAKE(job, read_forest_job(checkpoint));
  return job.done || job.forest.splits.empty();
}

/// Checks what was given, and runs it.
int run_checked(ForestJob& job, ForestRunOptions& run, bool resumed) {
  for (const Status& status :
       {cuface::validate(job.options, run.backend), validate(job.inputs), validate(run)})
    if (!status.ok()) return wrong_usage(status.message());
  for (std::string* path : {&job.inputs.images, &job.inputs.validation,
                            &job.inputs.faces.mirror_table, &job.output, &job.five})
    *path = from_root(*path);
  if (std::string& boxes = job.inputs.faces.detector; boxes != kPipelineBoxes)
    boxes = from_root(boxes);
  if (job.five == job.output) return wrong_usage("--five and --output are one file");
  if (run.checkpoint.empty()) run.checkpoint = job.output + ".checkpoint";
  if (!resumed) {
    if (const Status status = check_is_free(run.checkpoint, may_go); !status.ok())
      return fail(status);
  }
  return run_forest_job(job, run, resumed);
}

int forest(const std::vector<std::string>& arguments) {
  ForestJob job;
  ForestRunOptions run;
  std::vector<Option> options = {
      option("images", nullptr, "PATH", job.inputs.images,
             "labelled pictures: imglab's .xml, .csv, .json, or a folder with .pts files"),
      option("output", nullptr, "FILE", job.output, "the model: .dat (dlib's) or .cuface"),
      option("validation", nullptr, "PATH", job.inputs.validation,
             "others like --images, which say when to end"),
      text_option("five", "FILE", job.five,
                  "a model of 5 of 68 points besides, of at most 1 MB as .cuface")};
  append(options, face_options(job.inputs));
  append(options, forest_options(job.options));
  append(options, run_options(run));
  if (const auto status = parse_command_line(
          arguments, kForestName, "--images PATH --output FILE",
          "Trains a model of landmarks, which dlib and cufacelandmark load.", options))
    return *status;
  if (const auto status = check_given(options, 2)) return *status;
  return run_checked(job, run, false);
}

int resume(const Checkpoint& checkpoint, const std::vector<std::string>& arguments) {
  Result<ForestJob> read = read_forest_job(checkpoint);
  if (!read.ok()) return fail(read.status());
  ForestJob& job = read.value();
  const std::string five = job.five;
  ForestRunOptions run;
  run.checkpoint = checkpoint.path();
  std::vector<Option> options = {
      option("images", nullptr, "PATH", job.inputs.images, "where the pictures are now"),
      option("validation", nullptr, "PATH", job.inputs.validation, "where these are now"),
      option("output", nullptr, "FILE", job.output, "the model"),
      text_option("five", "FILE", job.five, "the model of five points, where there is one")};
  append(options, run_options(run));
  if (const auto status =
          parse_command_line(arguments, "resume", "CHECKPOINT",
                             "Goes on with a forest, to the bytes of an undisturbed run.", options))
    return *status;
  if (from_root(job.five) != five) job.five_done = false;
  return run_checked(job, run, true);
}

Status print(const Checkpoint& checkpoint) {
  CUFACE_TAKE(job, read_forest_job(checkpoint));
  std::printf("training   forest of landmarks\n");
  std::printf("images     %s\noutput     %s\n", job.inputs.images.c_str(), job.output.c_str());
  const TrainingRecord record = training_record(job);
  for (const TrainingRecord::Line& line : record.lines())
    std::printf("%-31s %s\n", line.name.c_str(), line.value.c_str());
  const int all = job.options.cascade_depth * job.options.num_trees_per_cascade_level;
  std::printf("trees      %zu of %d\n", job.forest.trees(job.options), all);
  if (job.done) {
    std::printf("done\n");
  } else {
    std::printf("to go on   cuface-train resume %s\n", checkpoint.path().c_str());
  }
  return {};
}

}  // namespace

const Command kForestCommand = {"forest", "trains a model of landmarks", forest};
const Command kErtCommand = {"ert", "the same as forest", forest};
const Training kForestTraining = {kForestName, print, resume};

}  // namespace cuface::train
