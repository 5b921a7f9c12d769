// How long the GPU works for an element.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "gst/base/cuda/devicechain.h"
#include "kernels/common/launch_cuda.h"
#include "kernels/common/status.h"

namespace cuface::gst {

/// Adds up the times between a frame's first and last kernel: events before and behind them, read
/// when their turn comes again and the GPU is long past them. Nobody waits. The streaming thread's,
/// with the same context current throughout, but for total_ns().
class DeviceClock {
 public:
  DeviceClock() = default;
  ~DeviceClock() { stop(); }
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  /// Makes the events; the total goes on.
  Status start();
  /// Adds what is over and frees the events.
  void stop();

  /// Around the kernels of a frame.
  Status begin(cuda::Launcher launch);
  Status end(cuda::Launcher launch);

  void reset_total() { total_ns_ = 0; }
  /// From any thread; a few frames late.
  std::uint64_t total_ns() const { return total_ns_; }

 private:
  struct Turn {
    cudaEvent_t begin = nullptr, end = nullptr;
    bool pending = false;
  };

  void add(Turn& turn);
  Turn& current() { return turns_[frame_ % turns_.size()]; }

  std::array<Turn, DeviceChain::kInFlight> turns_;
  std::uint64_t frame_ = 0;
  std::atomic<std::uint64_t> total_ns_{0};
};

}  // namespace cuface::gst
