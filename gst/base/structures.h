// GstStructures that every program prints and every language reads: plain values, and lists of
// plain structures. Our element messages are made of them.
#pragma once

#include <gst/gst.h>

#include <span>
#include <vector>

namespace cuface::gst {

/// When a frame is.
struct FrameTime {
  GstClockTime timestamp = GST_CLOCK_TIME_NONE, running_time = GST_CLOCK_TIME_NONE;
};

/// A structure with timestamp and running-time. The caller's.
GstStructure* new_message(const char* name, const FrameTime& time);

/// Posts it as an element message of this element. Takes the structure.
void post_message(GstElement* element, GstStructure* structure);

/// An array of floats; none where there are no values.
void set_floats(GstStructure* structure, const char* field, std::span<const float> values);

/// A list of structures, as gst-opencv's elements post them. Takes the items.
void take_list(GstStructure* structure, const char* field, const std::vector<GstStructure*>& items);

}  // namespace cuface::gst
