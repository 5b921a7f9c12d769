// Makes the lines of an element that publishes: one a frame.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <string>

#include "gst/base/frame.h"
#include "gst/faces/line.h"

namespace cuface::gst {

/// The streaming thread's.
class LineMaker {
 public:
  explicit LineMaker(GstElement* element) : element_(element) {}

  /// READY to PAUSED: frames count from 0 again.
  void start();
  /// The line of a frame with these faces. Warns once where no element before looks for anything;
  /// `before`: whether one has found faces.
  Line next(const Frame& frame, const GstSegment& segment, FaceResult faces, Positions before,
            const std::string& source);

 private:
  GstElement* const element_;
  std::uint64_t frames_ = 0;
  bool warned_ = false;
};

}  // namespace cuface::gst
