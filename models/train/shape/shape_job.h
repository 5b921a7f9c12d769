// A shape model's training as a job: what the command line, a checkpoint and a report tell of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/shape_training/shape_training.h"
#include "models/train/checkpoint.h"
#include "models/train/face_set.h"
#include "models/train/job_run.h"
#include "models/train/options.h"
#include "models/training_record.h"

namespace cuface::train {

/// What Checkpoint::training() says.
inline constexpr const char* kShapeName = "shape";

struct ShapeJob {
  ShapeOptions options;
  std::string images, output;  ///< paths, from the root
  FaceOptions faces;
  std::string size_points;  ///< "36,45,66"; empty: the scheme's own
  std::string edge_points;  ///< "0-16"; empty: the scheme's own
  std::uint64_t images_hash = 0, images_count = 0;
  bool done = false;
  LearntTextures textures;
};

/// What decides about the bytes, by name: for the command line, a checkpoint and the model.
std::vector<Option> shape_options(ShapeJob& job);
/// Of the options that are not at their defaults those that say nothing with the job's profiles,
/// each in a sentence.
std::vector<std::string> idle_options(ShapeJob job);
/// The texts of the job, read into its options. kInvalidArgument.
Status read_point_options(ShapeJob& job);

TrainingRecord training_record(ShapeJob job);

/// kIo.
Status write_shape_checkpoint(const std::string& path, const ShapeJob& job);
/// kCorrupt, kInvalidArgument.
Result<ShapeJob> read_shape_job(const Checkpoint& checkpoint);

/// Trains until the end, Ctrl-C or an error, and says what has come of it. The exit status.
int run_shape_job(ShapeJob& job, const RunOptions& run, bool resumed);

}  // namespace cuface::train
