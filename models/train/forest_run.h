// Doing a job: faces read, a forest grown, checkpoints and the model written, everything told.
#pragma once

#include <vector>

#include "models/train/forest_job.h"
#include "models/train/job_run.h"

namespace cuface::train {

/// What changes no byte of the model.
struct ForestRunOptions : RunOptions {
  TrainingBackend backend = TrainingBackend::kAuto;
};
std::vector<Option> run_options(ForestRunOptions& run);

/// Trains until the end, Ctrl-C or an error, and says on the standard output and error what has
/// come of it. `resumed`: the job is a checkpoint's, and its inputs have to be the ones that it
/// began with. The program's exit status.
int run_forest_job(ForestJob& job, const ForestRunOptions& run, bool resumed);

}  // namespace cuface::train
