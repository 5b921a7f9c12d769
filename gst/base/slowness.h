// How far a streaming thread is behind a live source because of its own work.
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <atomic>

namespace cuface::gst {

/// A source that does not wait drops frames while the thread that takes them is busy: at once (a
/// leaky queue), or some frames later (a camera whose buffers were full by then). The timestamps
/// jump over dropped frames. This counts how much that may be: the time that the thread was busy,
/// less the time that the frames it took since stand for.
///
/// Times are of the machine, in ns, and passed in. resume() from any thread, the rest from the
/// streaming thread.
class Slowness {
 public:
  void restart() { behind_ = busy_ = 0; }

  /// Work of the thread from here to leave() delays the next frame.
  void arrive(GstClockTime now) { arrived_ = now; }
  void leave(GstClockTime now) { busy_ += now - std::max(arrived_, resumed_.load()); }

  /// The pipeline goes on from PAUSED, where a sink may have held up the thread, but a live source
  /// has sent nothing.
  void resume(GstClockTime now) { resumed_ = now; }

  /// From arrive() to advance(): the most that may have been dropped before this frame.
  GstClockTime behind() const { return behind_ + busy_; }

  /// The frame that has arrived is this much later than the one before.
  void advance(GstClockTime step) {
    behind_ = behind() > step ? behind() - step : 0;
    busy_ = 0;
  }

 private:
  GstClockTime behind_ = 0, busy_ = 0, arrived_ = 0;
  std::atomic<GstClockTime> resumed_{0};
};

}  // namespace cuface::gst
