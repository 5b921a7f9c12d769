// The times of an element's frames, and whether a frame continues the one before.
#pragma once

#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

#include <cmath>

#include "gst/base/frame.h"
#include "gst/base/liveness.h"
#include "gst/base/slowness.h"
#include "gst/base/timejump.h"

namespace cuface::gst {

/// sent_upstream() and resume() from any thread, the rest from the streaming thread.
class FrameTimes {
 public:
  void restart() {
    line_.restart();
    slowness_.restart();
    liveness_.restart();
  }

  /// Around everything the streaming thread does with a buffer, here and downstream.
  void arrive() { slowness_.arrive(now()); }
  void leave() { slowness_.leave(now()); }

  /// A segment on its way downstream. One that is played backwards is a break.
  void segment(GstEvent* event) {
    if (is_reverse_segment(event)) line_.break_off();
  }
  void sent_upstream(GstEvent* event) { liveness_.told(event); }
  /// The pipeline goes on from PAUSED.
  void resume() { slowness_.resume(now()); }

  /// The step from the frame before. Elements of one chain that work in the same thread on the same
  /// frames agree: the machine's time is measured by the first of them.
  FrameStep advance(Frame& frame, const GstBaseTransform* trans) {
    FrameRecord& record = frame.record();
    const GstClockTime own = slowness_.behind();
    if (frame.is_first() || (!frame.chain_on_this_thread() && record.behind < own))
      record.behind = own;
    const FrameStep step = line_.advance(frame.pts(), trans->segment.rate < 0, [&] {
      return liveness_.is_live(GST_BASE_TRANSFORM_SINK_PAD(trans)) ? record.behind : 0;
    });
    slowness_.advance(static_cast<GstClockTime>(std::abs(step.seconds) * GST_SECOND));
    return step;
  }

  /// Whether the source is live.
  bool is_live(GstBaseTransform* trans) {
    return liveness_.is_live(GST_BASE_TRANSFORM_SINK_PAD(trans));
  }

 private:
  static GstClockTime now() { return static_cast<GstClockTime>(g_get_monotonic_time()) * 1000; }

  TimeLine line_;
  Slowness slowness_;
  Liveness liveness_;
};

}  // namespace cuface::gst
