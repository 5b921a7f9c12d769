// Whether QOS events from downstream say that frames come too late, so that searches
// must wait.
#pragma once

#include <gst/gst.h>

#include <atomic>

namespace cuface::gst {

/// Told from any thread, asked from the streaming thread.
class Lateness {
 public:
  void restart() { late_until_ = GST_CLOCK_TIME_NONE; }

  /// An event on its way upstream.
  void told(GstEvent* event) {
    if (GST_EVENT_TYPE(event) != GST_EVENT_QOS) return;
    GstQOSType type;
    gdouble proportion;
    GstClockTimeDiff late;
    GstClockTime timestamp;
    gst_event_parse_qos(event, &type, &proportion, &late, &timestamp);
    // A sink that throttles wants fewer frames; those it gets are not late.
    if (type == GST_QOS_TYPE_THROTTLE || !GST_CLOCK_TIME_IS_VALID(timestamp)) return;
    // As GstBaseTransform has it: the next frames will be late too, until as much is made good.
    late_until_ = late > 0 ? timestamp + 2 * static_cast<GstClockTime>(late) : GST_CLOCK_TIME_NONE;
  }

  /// Whether a frame of this running time is late. That says something where the source is live:
  /// others wait for us, and what is found in their frames must not depend on the machine's speed.
  bool is_late(GstClockTime running_time) const {
    const GstClockTime until = late_until_;
    return GST_CLOCK_TIME_IS_VALID(until) && GST_CLOCK_TIME_IS_VALID(running_time) &&
           running_time <= until;
  }

 private:
  std::atomic<GstClockTime> late_until_{GST_CLOCK_TIME_NONE};
};

}  // namespace cuface::gst
