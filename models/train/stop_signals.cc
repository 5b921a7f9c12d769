#include "models/train/stop_signals.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>

namespace cuface::train {
namespace {

/// What ends a training, and what ends the thread that waits for it. A signal that is ignored stays
/// so, as nohup and shells want it: blocked, it would be waited for.
sigset_t signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    const bool ignored = sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
    if (!ignored) sigaddset(&set, signal);
  }
  sigaddset(&set, SIGUSR1);
  return set;
}

}  // namespace

StopSignals::StopSignals(StopFlag& stop) : stop_(stop), signals_(signals()) {
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  thread_ = std::thread([this] { wait(); });
}

StopSignals::~StopSignals() {
  over_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void StopSignals::wait() {
  bool asked = false;
  while (true) {
    int signal = 0;
    if (sigwait(&signals_, &signal) != 0) continue;
    if (over_) return;
    if (signal == SIGUSR1) continue;  // somebody else's
    if (asked) ::_exit(128 + signal);
    asked = true;
    stop_.raise();
  }
}

}  // namespace cuface::train
