// Doing a job: samples read, stages trained, checkpoints and the cascade written, everything told.
#pragma once

#include <cstdint>
#include <vector>

#include "models/train/cascade_job.h"
#include "models/train/job_run.h"

namespace cuface::train {

/// What changes no byte of the cascade.
struct CascadeRunOptions : RunOptions {
  TrainingBackend backend = TrainingBackend::kAuto;
  std::uint64_t memory_mib = 2048;   ///< for sorted orders, and the same for backgrounds
  std::uint64_t gpu_memory_mib = 0;  ///< for sorted orders; 0 = most of what is free
};
std::vector<Option> run_options(CascadeRunOptions& run);
/// kInvalidArgument, with the option's name.
Status validate(const CascadeRunOptions& run);

/// Trains until the end, Ctrl-C or an error, and says on the standard output and error what has
/// come of it. `resumed`: the job is a checkpoint's, and its inputs have to be the ones that it
/// began with. The program's exit status.
int run_cascade_job(CascadeJob& job, const CascadeRunOptions& run, bool resumed);

}  // namespace cuface::train
