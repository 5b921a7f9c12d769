// Whether two frames belong together, by their timestamps.
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace cuface::gst {

/// From one frame to the next.
struct FrameStep {
  double seconds = 0;  ///< below zero backwards; 0 where one of them has no timestamp
  /// They do not belong together: tracks end, and a search is due. `seconds` is then what the
  /// timestamps say all the same.
  bool jump = false;
  GstClockTime usual = 0;  ///< the usual step before this one, in ns; 0 where none is known
};

/// The timestamps of the frames that one element gets.
///
/// A jump is a step of over a second that is also over three times the usual one, in either
/// direction. The usual step is the median of the last five, so that neither a dropped frame nor
/// the jump itself changes it, and a stream that has become slower jumps three times at most. A
/// source may send a frame every two seconds from the beginning. So until a step is known, no step
/// forwards is a jump.
class TimeLine {
 public:
  static constexpr GstClockTime kLeastJump = GST_SECOND;
  static constexpr GstClockTime kUsualSteps = 3;

  void restart() { *this = {}; }
  /// The next frame does not continue the one before, whatever its timestamp.
  void break_off() { broken_ = true; }

  /// The step to the frame of this timestamp. Where the stream is played in `reverse`, forwards is
  /// towards smaller timestamps. `missing()`, asked only where it matters, is how much of the step
  /// there may be no frames for because this side was too slow for a live source: no jump.
  template <typename Missing>
  FrameStep advance(GstClockTime pts, bool reverse, Missing missing) {
    const GstClockTime last = std::exchange(last_, pts);
    const bool broken = std::exchange(broken_, false);
    const GstClockTime usual = usual_step();
    if (!GST_CLOCK_TIME_IS_VALID(last) || !GST_CLOCK_TIME_IS_VALID(pts)) return {0, broken, usual};
    const GstClockTimeDiff step = GST_CLOCK_DIFF(last, pts);
    const auto size = static_cast<GstClockTime>(step < 0 ? -step : step);
    const bool forwards = (step < 0) == reverse;
    const GstClockTime most = std::max(kLeastJump, kUsualSteps * usual);
    bool jump = size > most;
    if (jump && forwards) jump = known_ > 0 && size > most + missing();
    if (forwards && size > 0) {
      steps_[next_] = size;
      next_ = (next_ + 1) % steps_.size();
      known_ = std::min(known_ + 1, steps_.size());
    }
    return {static_cast<double>(step) / GST_SECOND, jump || broken, usual};
  }

 private:
  static constexpr std::size_t kMedianOf = 5;

  GstClockTime usual_step() const {
    if (known_ == 0) return 0;
    std::array<GstClockTime, kMedianOf> sorted = steps_;
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(known_);
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((known_ - 1) / 2);
    std::nth_element(sorted.begin(), middle, end);
    return *middle;
  }

  GstClockTime last_ = GST_CLOCK_TIME_NONE;
  bool broken_ = false;
  std::array<GstClockTime, kMedianOf> steps_{};
  std::size_t known_ = 0, next_ = 0;
};

/// Whether this is a segment that is played backwards: tracks end and a search is due too.
inline bool is_reverse_segment(GstEvent* event) {
  if (GST_EVENT_TYPE(event) != GST_EVENT_SEGMENT) return false;
  const GstSegment* segment = nullptr;
  gst_event_parse_segment(event, &segment);
  return segment->rate < 0;
}

}  // namespace cuface::gst
