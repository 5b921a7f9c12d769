// Ctrl-C and its like, as a StopFlag.
#pragma once

#include <signal.h>

#include <atomic>
#include <thread>

#include "kernels/common/stop_flag.h"

namespace cuface::train {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP raises `stop`, and a second one ends the
/// process at once; one that is ignored stays so. Threads that begin meanwhile are left alone by
/// these signals. Make it first, before other threads, and one at a time.
class StopSignals {
 public:
  explicit StopSignals(StopFlag& stop);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  void wait();

  StopFlag& stop_;
  std::atomic<bool> over_{false};
  const sigset_t signals_;  ///< that are waited for
  sigset_t before_;         ///< signals that were blocked
  std::thread thread_;
};

}  // namespace cuface::train
