// Whether QOS events from downstream say that frames come too late, so that searches must wait.
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace cuface::gst {

/// Told from any thread, asked from the streaming thread.
class Lateness {
 public:
  void restart() {
    late_until_ = last_searchable_ = last_counted_ = GST_CLOCK_TIME_NONE;
    late_seconds_ = 0;
    worst_ = 0;
  }

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
    lateness_ = late;
    proportion_ = proportion;
    if (late > 0) count(timestamp, late);
    // As GstBaseTransform has it: the next frames will be late too, until as much is made good.
    late_until_ = late > 0 ? timestamp + 2 * static_cast<GstClockTime>(late) : GST_CLOCK_TIME_NONE;
  }

  /// Whether a frame of this running time is late. Lateness counts only if the source is live.
  /// Other sources wait, and their faces must not depend on the machine's speed.
  bool is_late(GstClockTime running_time) const {
    const GstClockTime until = late_until_;
    return GST_CLOCK_TIME_IS_VALID(until) && GST_CLOCK_TIME_IS_VALID(running_time) &&
           running_time <= until;
  }

  /// Whether a frame that may be `late` is to go without a search. Not for `most` ns or longer:
  /// then a frame is searchable although it is late. Ask once for each frame that has a picture.
  bool puts_off_search(GstClockTime running_time, bool late, GstClockTime most) {
    if (late && GST_CLOCK_TIME_IS_VALID(last_searchable_) && running_time >= last_searchable_ &&
        running_time - last_searchable_ < most)
      return true;
    last_searchable_ = running_time;
    return false;
  }

  /// In so many seconds frames were late, and by so much at most, in ns. A pipeline that begins may
  /// be late once or twice.
  int late_seconds() const { return late_seconds_; }
  GstClockTimeDiff worst() const { return worst_; }

  /// The last QOS event: how late the frame was, and how much faster the data should come.
  GstClockTimeDiff lateness() const { return lateness_; }
  gdouble proportion() const { return proportion_; }

 private:
  void count(GstClockTime timestamp, GstClockTimeDiff late) {
    if (late > worst_) worst_ = late;
    const GstClockTime last = last_counted_;
    if (GST_CLOCK_TIME_IS_VALID(last) && timestamp < last + GST_SECOND) return;
    last_counted_ = timestamp;
    ++late_seconds_;
  }

  std::atomic<GstClockTime> late_until_{GST_CLOCK_TIME_NONE};
  std::atomic<GstClockTimeDiff> lateness_{0};
  std::atomic<gdouble> proportion_{1};
  std::atomic<GstClockTimeDiff> worst_{0};
  std::atomic<GstClockTime> last_counted_{GST_CLOCK_TIME_NONE};
  std::atomic<int> late_seconds_{0};
  GstClockTime last_searchable_ = GST_CLOCK_TIME_NONE;  // the streaming thread's
};

/// The longest of the last 100 to 200 times. So what was long once, at the start, is forgotten.
class LongestOfLately {
 public:
  void add(GstClockTime time) {
    longest_ = std::max(longest_, time);
    if (++count_ % 100 == 0) before_ = std::exchange(longest_, 0);
  }
  GstClockTime get() const { return std::max(longest_, before_); }

 private:
  GstClockTime longest_ = 0, before_ = 0;
  unsigned count_ = 0;
};

}  // namespace cuface::gst
