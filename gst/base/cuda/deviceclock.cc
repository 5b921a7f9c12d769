#include "gst/base/cuda/deviceclock.h"

#include "kernels/common/cuda/runtime.h"
#include "kernels/common/try.h"

namespace cuface::gst {

using cuda::check;

Status DeviceClock::start() {
  for (Timing& timing : timings_)
    for (cudaEvent_t* event : {&timing.begin, &timing.end})
      CUFACE_TRY(check(cudaEventCreate(event), "making a CUDA event"));
  time_first_frames();
  return {};
}

void DeviceClock::stop() {
  while (read_ < taken_) read_next();
  for (Timing& timing : timings_) {
    if (timing.begin) cudaEventDestroy(timing.begin);
    if (timing.end) cudaEventDestroy(timing.end);
    timing = {};
  }
}

/// What is not over is left out.
void DeviceClock::read_next() {
  const Timing& next = timing(read_++);
  float ms = 0;
  // Says by itself whether it is over: asking first would cost the host as much again.
  const cudaError_t answer = cudaEventElapsedTime(&ms, next.begin, next.end);
  if (answer == cudaErrorNotReady) {
    cudaGetLastError();  // no error of the launches to come
    return;
  }
  if (!check(answer, "asking for a time").ok()) return;
  last_ns_ = static_cast<std::uint64_t>(static_cast<double>(ms) * 1e6);
  total_ns_ += last_ns_;
}

Status DeviceClock::begin(cuda::Launcher launch) {
  if (read_ < taken_ && frame_ >= timing(read_).frame + timings_.size()) read_next();
  if (asked_.load(std::memory_order_relaxed)) {
    asked_.store(false, std::memory_order_relaxed);
    told_until_ = frame_ + kAfterAsking;
  }
  const bool wanted = frame_ >= next_timed_ || frame_ < told_until_;
  timed_ = wanted && taken_ - read_ < timings_.size();
  // Mostly none is on its way, and with the events of the time before nothing of a graph changes.
  if (taken_ == read_) taken_ = read_ = 0;
  return timed_ ? launch.record(timing(taken_).begin) : Status();
}

Status DeviceClock::end(cuda::Launcher launch) {
  const std::uint64_t frame = frame_++;
  if (!timed_) {
    total_ns_ += last_ns_;
    return {};
  }
  Timing& now = timing(taken_++);
  now.frame = frame;
  next_timed_ = frame + kLeast + random_() % kRange;
  return launch.record(now.end);
}

}  // namespace cuface::gst
