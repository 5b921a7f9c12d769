// What the timestamps say of two frames: do they belong together?
#pragma once

#include <gst/gst.h>

#include <cmath>
#include <utility>

namespace cuface::gst {

/// Between frames further apart than this, either way, tracks end and a search is due. In seconds.
inline constexpr double kMaxJump = 1.0;

/// The timestamps of the frames of one element.
class TimeLine {
 public:
  void restart() { last_ = GST_CLOCK_TIME_NONE; }
  /// Seconds since the frame before, below zero backwards; 0 where one of them has no timestamp.
  double advance(GstClockTime pts) {
    const GstClockTime last = std::exchange(last_, pts);
    if (!GST_CLOCK_TIME_IS_VALID(last) || !GST_CLOCK_TIME_IS_VALID(pts)) return 0;
    return static_cast<double>(GST_CLOCK_DIFF(last, pts)) / GST_SECOND;
  }
  static bool is_jump(double seconds) { return std::abs(seconds) > kMaxJump; }

 private:
  GstClockTime last_ = GST_CLOCK_TIME_NONE;
};

/// Whether this is a segment that is played backwards: tracks end and a search is due too.
inline bool is_reverse_segment(GstEvent* event) {
  if (GST_EVENT_TYPE(event) != GST_EVENT_SEGMENT) return false;
  const GstSegment* segment = nullptr;
  gst_event_parse_segment(event, &segment);
  return segment->rate < 0;
}

}  // namespace cuface::gst
