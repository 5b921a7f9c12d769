// How long the GPU works for an element.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <random>

#include "gst/base/cuda/devicechain.h"
#include "kernels/common/cuda/launch.h"
#include "kernels/common/status.h"

namespace cuface::gst {

/// Adds up the times between a frame's first and last kernel: events before and behind them, read
/// when the GPU is long past them. Nobody waits. Events cost the host as much as the launch of a
/// graph, so only the first frames have them, those after somebody has asked, and else one in 16 on
/// average, at irregular distances: searches come at regular ones. A frame without them counts with
/// the last time measured. The streaming thread's, with the same context current throughout, but
/// for ask().
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

  /// The next frames are timed: where graphs are made anew, those with events are among the first.
  void time_first_frames() { told_until_ = frame_ + kFirst; }

  /// Around the kernels of a frame.
  Status begin(cuda::Launcher launch);
  Status end(cuda::Launcher launch);

  void reset_total() { total_ns_ = 0; }
  /// The total, a few frames late. From any thread. Who asks on every frame gets every frame's
  /// time.
  std::uint64_t ask() const {
    asked_.store(true, std::memory_order_relaxed);
    return total_ns_;
  }

 private:
  static constexpr std::uint64_t kFirst = 4, kLeast = 8, kRange = 16, kAfterAsking = 8;

  struct Timing {
    cudaEvent_t begin = nullptr, end = nullptr;
    std::uint64_t frame = 0;
  };

  Timing& timing(std::uint64_t number) { return timings_[number % timings_.size()]; }
  void read_next();

  std::array<Timing, DeviceChain::kInFlight> timings_;
  std::uint64_t taken_ = 0, read_ = 0;  ///< timings so far; those between are on their way
  std::uint64_t frame_ = 0;
  std::uint64_t next_timed_ = 0;  ///< the next frame with events, whoever asks
  std::uint64_t told_until_ = 0;  ///< the first one that nobody has asked for
  mutable std::atomic<bool> asked_{false};
  bool timed_ = false;         ///< whether this one has them
  std::uint64_t last_ns_ = 0;  ///< the last time measured
  std::minstd_rand random_;
  std::atomic<std::uint64_t> total_ns_{0};
};

}  // namespace cuface::gst
