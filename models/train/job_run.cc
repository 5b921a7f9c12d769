#include "models/train/job_run.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "kernels/common/workers.h"
#include "models/output_file.h"
#include "models/train/command.h"
#include "models/train/job_files.h"

namespace cuface::train {
namespace {

constexpr Choice<TrainingBackend> kBackends[] = {{TrainingBackend::kAuto, "auto", "auto"},
                                                 {TrainingBackend::kCpu, "cpu", "cpu"},
                                                 {TrainingBackend::kCuda, "cuda", "cuda"}};

}  // namespace

Option backend_option(TrainingBackend& backend, const char* help) {
  return option("backend", nullptr, "auto|cpu|cuda", backend, kBackends, help);
}

std::vector<Option> run_options(RunOptions& run, const char* threads_peer, const char* reported) {
  return {
      option("checkpoint", nullptr, "FILE", run.checkpoint,
             "where the training stands, to go on from with resume"),
      option("checkpoint-every", nullptr, "SECONDS", run.checkpoint_seconds,
             "time between two checkpoints, to 300"),
      option("report", nullptr, "FILE", run.report, reported),
      option("threads", threads_peer, "N", run.threads, "threads; 0 = all processors"),
      option("quiet", nullptr, run.quiet, "tell warnings and the end only"),
  };
}

Status validate(const RunOptions& run) {
  const auto invalid = [](const char* why) { return Status(StatusCode::kInvalidArgument, why); };
  if (run.threads < 0 || run.threads > 1024) return invalid("--threads must be 0 to 1024");
  if (!(run.checkpoint_seconds >= 0 && run.checkpoint_seconds <= 300))
    return invalid("--checkpoint-every must be 0 to 300 seconds");
  return {};
}

JobRun::JobRun(const RunOptions& options, std::function<Status()> write_checkpoint)
    : options_(options),
      write_checkpoint_(std::move(write_checkpoint)),
      signals_(stop_),
      progress_(options.quiet),
      checkpoint_(options.checkpoint_seconds) {}

Status JobRun::save() {
  checkpoint_.restart();  // also after an error: a full disk is not tried at each step
  return write_checkpoint_();
}

void JobRun::save_now_and_then(bool needed) {
  if (!needed && !checkpoint_.due()) return;
  if (const Status status = save(); !status.ok()) {
    progress_.warn(status.message() + "; the checkpoint before is kept, and the next one is tried");
  }
}

Status JobRun::keep(const Status& ended) {
  const Status saved = save();
  if (!saved.ok()) {
    return {saved.code(), ended.message() + "; and " + saved.message() +
                              "; the checkpoint before is kept" + go_on()};
  }
  // Inputs that do not do have to change, and with others it cannot go on.
  if (ended.code() == StatusCode::kInvalidArgument) return ended;
  if (ended.code() != StatusCode::kCancelled) return {ended.code(), ended.message() + go_on()};
  return {};
}

int JobRun::tell_stopped(const std::string& what) {
  progress_.warn("stopped; " + options_.checkpoint + " has " + what + go_on());
  return kStoppedEarly;
}

Status JobRun::write_report(nlohmann::json report, double load_seconds) const {
  if (options_.report.empty()) return {};
  report["load_seconds"] = load_seconds;
  report["peak_bytes"] = peak_bytes();
  report["threads"] = options_.threads > 0 ? options_.threads : Workers::processors();
  const std::string text =
      report.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return replace_file(options_.report, {std::as_bytes(std::span(text))});
}

std::string JobRun::go_on() const {
  return "; to go on: cuface-train resume " + options_.checkpoint;
}

int exit_status(const Result<int>& result) {
  if (result.ok()) return result.value();
  if (result.status().code() == StatusCode::kCancelled) {
    std::fprintf(stderr, "cuface-train: stopped before the training began\n");
    return kStoppedEarly;
  }
  return fail(result.status());
}

}  // namespace cuface::train
