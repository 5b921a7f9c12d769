// How a long search is ended from another thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "kernels/common/status.h"

namespace cuface {

/// Raised by any thread, looked at by a search: it is the owner's, outlives whoever looks at it,
/// and is lowered only while none of these works. Several reasons may hold it up at once; it is
/// down when the last one is gone.
class StopFlag {
 public:
  enum Reason : unsigned { kEnd = 1, kFlush = 2 };

  void raise(Reason reason = kEnd) {
    const std::lock_guard lock(mutex_);
    reasons_.fetch_or(reason, std::memory_order_relaxed);
    mirror();
  }
  void lower(Reason reason = kEnd) {
    const std::lock_guard lock(mutex_);
    reasons_.fetch_and(~unsigned{reason}, std::memory_order_relaxed);
    mirror();
  }
  bool raised() const { return reasons_.load(std::memory_order_relaxed) != 0; }

  /// From now on `word` is 1 while the flag is raised, else 0: for a GPU, which reads it in pinned
  /// memory. Null ends that; then the word may go.
  void mirror_to(std::uint32_t* word) {
    const std::lock_guard lock(mutex_);
    mirror_ = word;
    mirror();
  }

 private:
  void mirror() const {
    if (mirror_) std::atomic_ref(*mirror_).store(raised() ? 1 : 0, std::memory_order_relaxed);
  }

  std::mutex mutex_;  // of the mirror
  std::uint32_t* mirror_ = nullptr;
  std::atomic<unsigned> reasons_{0};
};

/// Windows, and rows of a picture, between two looks at a flag: well under 20 ms of the slowest
/// work.
inline constexpr int kWindowsPerLook = 256;
inline constexpr int kRowsPerLook = 16;

/// False without a flag.
inline bool is_raised(const StopFlag* stop) { return stop && stop->raised(); }

inline Status cancelled() { return {StatusCode::kCancelled, "stopped before it was done"}; }

}  // namespace cuface
