#include "gst/base/cuda/deviceclock.h"

#include "kernels/common/cuda.h"

namespace cuface::gst {

using cuda::check;

Status DeviceClock::start() {
  for (Turn& turn : turns_)
    for (cudaEvent_t* event : {&turn.begin, &turn.end})
      if (Status s = check(cudaEventCreate(event), "making a CUDA event"); !s.ok()) return s;
  return {};
}

void DeviceClock::stop() {
  for (Turn& turn : turns_) {
    add(turn);
    if (turn.begin) cudaEventDestroy(turn.begin);
    if (turn.end) cudaEventDestroy(turn.end);
    turn = {};
  }
}

void DeviceClock::add(Turn& turn) {
  if (!turn.pending) return;
  float ms = 0;
  // Says by itself whether it is over: asking first would cost the host as much again.
  const cudaError_t answer = cudaEventElapsedTime(&ms, turn.begin, turn.end);
  if (answer == cudaErrorNotReady) {
    cudaGetLastError();  // no error of the launches to come
    return;
  }
  turn.pending = false;
  if (check(answer, "asking for a time").ok())
    total_ns_ += static_cast<std::uint64_t>(static_cast<double>(ms) * 1e6);
}

Status DeviceClock::begin(cuda::Launcher launch) {
  add(current());
  return launch.record(current().begin);
}

Status DeviceClock::end(cuda::Launcher launch) {
  if (Status s = launch.record(current().end); !s.ok()) return s;
  current().pending = true;
  ++frame_;
  return {};
}

}  // namespace cuface::gst
