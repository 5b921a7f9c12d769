// What jobs of any kind do while they run: stop by Ctrl-C, tell, keep checkpoints, report.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "kernels/common/backend.h"
#include "kernels/common/status.h"
#include "kernels/common/stop_flag.h"
#include "models/train/options.h"
#include "models/train/progress.h"
#include "models/train/stop_signals.h"

namespace cuface::train {

/// What changes no byte of what is trained.
struct RunOptions {
  std::string checkpoint;  ///< path
  std::string report;      ///< path of a JSON file; empty: none
  int threads = 0;
  double checkpoint_seconds = 300;  ///< between two checkpoints
  bool quiet = false;
};
/// `threads_peer` is opencv_traincascade's name for --threads, and `reported` what a report holds.
std::vector<Option> run_options(RunOptions& run, const char* threads_peer, const char* reported);
/// "backend", of a training that has a GPU's version.
Option backend_option(TrainingBackend& backend, const char* help);
/// kInvalidArgument, with the option's name.
Status validate(const RunOptions& run);

/// Make it first, before other threads, and one at a time, as StopSignals asks. Serves one thread.
class JobRun {
 public:
  /// Must outlive it. `write_checkpoint` writes what has been trained so far.
  JobRun(const RunOptions& options, std::function<Status()> write_checkpoint);

  const StopFlag* stop() const { return &stop_; }
  Progress& progress() { return progress_; }

  /// kIo. The time to the next one begins again.
  Status save();
  /// Where a checkpoint is due, or `needed`; what goes wrong is a warning, as the one before stays.
  void save_now_and_then(bool needed);

  /// What a training that ended by an error, or by Ctrl-C, has to end with; all that it has goes to
  /// the checkpoint. Ok where it was stopped and that is written.
  Status keep(const Status& ended);
  /// Says that it was stopped, and that the checkpoint has `what`. The exit status.
  int tell_stopped(const std::string& what);

  /// Adds what every report has, and writes it where one is wanted. kIo.
  Status write_report(nlohmann::json report, double load_seconds) const;

 private:
  std::string go_on() const;

  const RunOptions& options_;
  const std::function<Status()> write_checkpoint_;
  StopFlag stop_;
  StopSignals signals_;
  Progress progress_;
  Every checkpoint_;
};

/// The program's exit status, told where it is an error.
int exit_status(const Result<int>& result);

}  // namespace cuface::train
