// The element messages of cumotiondetect: where an event begins and ends.
#pragma once

#include <gst/gst.h>

#include "gst/base/structures.h"
#include "gst/meta/motion.h"

namespace cuface::gst {

/// Follows one event at a time.
class MotionEvents {
 public:
  explicit MotionEvents(GstElement* element) : element_(element) {}

  /// A frame's motion. Posts the begin of an event with the first frame on which something moves.
  void follow(const MotionMap& motion, const FrameTime& time);
  /// Posts the end of the event, if one is on its way.
  void end();
  bool is_on() const { return on_; }

 private:
  void post(const char* state, const FrameTime& time, float share, int cells) const;

  GstElement* const element_;
  bool on_ = false;
  FrameTime last_;        ///< with motion
  float most_share_ = 0;  ///< of the event
  int most_cells_ = 0;
};

}  // namespace cuface::gst
