// A forest's training as a job: what the command line, a checkpoint and a report tell of it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/train/checkpoint.h"
#include "models/train/face_set.h"
#include "models/train/forest_training.h"
#include "models/train/options.h"
#include "models/training_record.h"

namespace cuface::train {

/// What Checkpoint::training() says.
inline constexpr const char* kForestName = "forest";

/// Where the faces come from.
struct ForestInputs {
  std::string images, validation;  ///< paths, from the root; `validation` may be empty
  FaceOptions faces;
  int patience = 2;
  // What they were when the training began; a training goes on only with the same.
  std::uint64_t images_hash = 0, validation_hash = 0;
  std::uint64_t images_count = 0, validation_count = 0;
};

struct ForestJob {
  ForestOptions options;
  ForestInputs inputs;
  std::string output;  ///< path, from the root
  bool done = false;
  GrownForest forest;
  std::string five = {};   ///< path, from the root, of a model of five points besides; empty: none
  bool five_done = false;  ///< that is written
};

/// What decides about the bytes: for the command line, and by name in a checkpoint and in the
/// trained model. The first ones are dlib's, under dlib's names.
std::vector<Option> forest_options(ForestOptions& options);
/// The same of the inputs, but for their paths.
std::vector<Option> face_options(ForestInputs& inputs);

/// For the trained model: everything that its bytes depend on.
TrainingRecord training_record(const ForestJob& job);

/// kIo.
Status write_forest_checkpoint(const std::string& path, const ForestJob& job);
/// What write_forest_checkpoint() has written: all that the job holds is in range, but for the
/// forest, which grow_forest() checks. kCorrupt, kInvalidArgument.
Result<ForestJob> read_forest_job(const Checkpoint& checkpoint);

/// Writes the model to the job's output: .dat as dlib has it, .cuface with how it was trained.
Status write_forest(const ForestJob& job, std::shared_ptr<const ForestModel> model);

}  // namespace cuface::train
