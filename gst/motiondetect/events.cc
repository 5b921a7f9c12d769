#include "gst/motiondetect/events.h"

#include <algorithm>
#include <utility>

namespace cuface::gst {

void MotionEvents::follow(const MotionMap& motion, const FrameTime& time) {
  if (motion.moving_cells > 0) {
    if (!std::exchange(on_, true)) {
      most_share_ = 0;
      most_cells_ = 0;
      post("begin", time, motion.share, motion.moving_cells);
    }
    last_ = time;
    most_share_ = std::max(most_share_, motion.share);
    most_cells_ = std::max(most_cells_, motion.moving_cells);
  }
  if (!motion.in_event) end();
}

void MotionEvents::end() {
  if (std::exchange(on_, false)) post("end", last_, most_share_, most_cells_);
}

void MotionEvents::post(const char* state, const FrameTime& time, float share, int cells) const {
  GstStructure* structure = new_message("cuface-motion", time);
  gst_structure_set(structure, "state", G_TYPE_STRING, state, "share", G_TYPE_FLOAT, share, "cells",
                    G_TYPE_UINT, static_cast<guint>(cells), nullptr);
  post_message(element_, structure);
}

}  // namespace cuface::gst
