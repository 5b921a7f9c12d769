// A cascade's training as a job: what the command line, a checkpoint and a report tell of it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/train/cascade_training.h"
#include "models/train/checkpoint.h"
#include "models/train/options.h"
#include "models/training_record.h"

namespace cuface::train {

/// What Checkpoint::training() says.
inline constexpr const char* kCascadeName = "cascade";

/// Where the samples come from.
struct CascadeInputs {
  std::string positives, negatives;  ///< paths, from the root
  bool skip_bad = false, align = false, mirror = false;
  // What they were when the training began; a training goes on only with the same.
  std::uint64_t positives_hash = 0, negatives_hash = 0;
  std::uint64_t positives_count = 0, negatives_count = 0;
};

enum class JobEnd : std::uint32_t { kNotYet, kAllStages, kTooFewNegatives };

struct CascadeJob {
  CascadeSettings settings;
  CascadeInputs inputs;
  std::string output;  ///< path, from the root
  JobEnd end = JobEnd::kNotYet;
  CascadeState state{settings.size};
};

/// What decides about the bytes: for the command line, and by name in a checkpoint and in the
/// trained model.
std::vector<Option> settings_options(CascadeSettings& settings);
/// The same of the inputs, but for their paths.
std::vector<Option> input_options(CascadeInputs& inputs);

/// For the trained model: everything that its bytes depend on.
TrainingRecord training_record(const CascadeJob& job);

/// kIo.
Status write_cascade_checkpoint(const std::string& path, const CascadeJob& job);
/// What write_cascade_checkpoint() has written: all that the job holds is in range, but for the
/// trees of the stage that has begun, which train_stage() checks. kCorrupt, kInvalidArgument.
Result<CascadeJob> read_cascade_job(const Checkpoint& checkpoint);

/// Phases, samples and rates of each stage, and all that training_record() has.
nlohmann::json job_report(const CascadeJob& job);

}  // namespace cuface::train
