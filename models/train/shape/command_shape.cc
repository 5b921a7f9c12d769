// cuface-train shape, and what info and resume do with its checkpoints.
#include <cstdio>

#include "kernels/common/try.h"
#include "models/train/command.h"
#include "models/train/job_files.h"
#include "models/train/shape/shape_job.h"

namespace cuface::train {
namespace {

constexpr const char* kReported = "write times, sizes and memory as JSON";

/// Done, or without a level.
Result<bool> may_go(const Checkpoint& checkpoint) {
  CUFACE_TAKE(job, read_shape_job(checkpoint));
  return job.done || job.textures.profiles.empty();
}

int run_checked(ShapeJob& job, RunOptions& run, bool resumed) {
  // Without knowing how many points there are: with size points of its own none is too far, and
  // the fewest make no model too large. The training itself knows more.
  ShapeOptions checked = job.options;
  if (job.faces.points == 0) checked.size_left = checked.size_right = checked.size_below = 0;
  for (const Status& status :
       {read_point_options(job), cuface::validate(checked, job.faces.points ? job.faces.points : 3),
        validate(run)})
    if (!status.ok()) return wrong_usage(status.message());
  for (std::string* path : {&job.images, &job.output, &job.faces.detector, &job.faces.mirror_table})
    *path = from_root(*path);
  if (run.checkpoint.empty()) run.checkpoint = job.output + ".checkpoint";
  if (!resumed) {
    if (const Status status = check_is_free(run.checkpoint, may_go); !status.ok())
      return fail(status);
  }
  return run_shape_job(job, run, resumed);
}

int shape(const std::vector<std::string>& arguments) {
  ShapeJob job;
  RunOptions run;
  std::vector<Option> options = {
      option("images", nullptr, "PATH", job.images,
             "labelled pictures: imglab's .xml, .csv, .json, or a folder with .pts files"),
      option("output", nullptr, "FILE", job.output, "the model: .cuface")};
  append(options, shape_options(job));
  append(options, run_options(run, nullptr, kReported));
  if (const auto status = parse_command_line(
          arguments, kShapeName, "--images PATH --output FILE",
          "Trains a model of a face's shape, which cufacelandmark loads.", options))
    return *status;
  if (const auto status = check_given(options, 2)) return *status;
  return run_checked(job, run, false);
}

int resume(const Checkpoint& checkpoint, const std::vector<std::string>& arguments) {
  Result<ShapeJob> read = read_shape_job(checkpoint);
  if (!read.ok()) return fail(read.status());
  ShapeJob& job = read.value();
  RunOptions run;
  run.checkpoint = checkpoint.path();
  std::vector<Option> options = {
      option("images", nullptr, "PATH", job.images, "where the pictures are now"),
      option("output", nullptr, "FILE", job.output, "the model")};
  append(options, run_options(run, nullptr, kReported));
  if (const auto status =
          parse_command_line(arguments, "resume", "CHECKPOINT",
                             "Goes on with a shape, to the bytes of an undisturbed run.", options))
    return *status;
  return run_checked(job, run, true);
}

Status print(const Checkpoint& checkpoint) {
  CUFACE_TAKE(job, read_shape_job(checkpoint));
  std::printf("training   shape of landmarks\n");
  std::printf("images     %s\noutput     %s\n", job.images.c_str(), job.output.c_str());
  const TrainingRecord record = training_record(job);
  for (const TrainingRecord::Line& line : record.lines())
    std::printf("%-31s %s\n", line.name.c_str(), line.value.c_str());
  std::printf("textures   %zu\n", job.textures.profiles.size());
  if (job.done) {
    std::printf("done\n");
  } else {
    std::printf("to go on   cuface-train resume %s\n", checkpoint.path().c_str());
  }
  return {};
}

}  // namespace

const Command kShapeCommand = {"shape", "trains a model of a face's shape", shape};
const Training kShapeTraining = {kShapeName, print, resume};

}  // namespace cuface::train
