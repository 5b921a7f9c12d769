// Live sources: whether QOS events from downstream say that frames come too late, so that searches
// must wait.
#pragma once

#include <gst/gst.h>

#include <atomic>

namespace cuface::gst {

/// Told from any thread, asked from the streaming thread.
class Lateness {
 public:
  void restart() {
    late_until_ = GST_CLOCK_TIME_NONE;
    ask_whether_live_ = true;
  }

  /// An event on its way upstream.
  void told(GstEvent* event) {
    if (GST_EVENT_TYPE(event) == GST_EVENT_LATENCY) {
      ask_whether_live_ = true;  // the pipeline has another source, or other delays
    } else if (GST_EVENT_TYPE(event) == GST_EVENT_QOS) {
      GstQOSType type;
      gdouble proportion;
      GstClockTimeDiff late;
      GstClockTime timestamp;
      gst_event_parse_qos(event, &type, &proportion, &late, &timestamp);
      // A sink that throttles wants fewer frames; those it gets are not late.
      if (type == GST_QOS_TYPE_THROTTLE || !GST_CLOCK_TIME_IS_VALID(timestamp)) return;
      // As GstBaseTransform has it: the next frames will be late too, until as much is made good.
      late_until_ =
          late > 0 ? timestamp + 2 * static_cast<GstClockTime>(late) : GST_CLOCK_TIME_NONE;
    }
  }

  /// Whether a frame of this running time is late, and comes from a live source: others wait for
  /// us, and what is found in their frames must not depend on the machine's speed.
  bool is_late(GstClockTime running_time, GstPad* sink) {
    const GstClockTime until = late_until_;
    if (!GST_CLOCK_TIME_IS_VALID(until) || !GST_CLOCK_TIME_IS_VALID(running_time) ||
        running_time > until)
      return false;
    if (ask_whether_live_.exchange(false)) live_ = is_live(sink);
    return live_;
  }

 private:
  static bool is_live(GstPad* sink) {
    GstQuery* query = gst_query_new_latency();
    gboolean live = FALSE;
    if (gst_pad_peer_query(sink, query)) gst_query_parse_latency(query, &live, nullptr, nullptr);
    gst_query_unref(query);
    return live;
  }

  std::atomic<GstClockTime> late_until_{GST_CLOCK_TIME_NONE};
  std::atomic<bool> ask_whether_live_{true};
  bool live_ = false;  // the streaming thread's
};

}  // namespace cuface::gst
