// The warnings of the face elements on frames.
#pragma once

#include <gst/gst.h>

#include <string>

namespace cuface::gst {

void warn_interlaced(GstElement* self);

/// Positions that no longer fit the picture are not delivered: the user hears which element to
/// move. `moved_by`: its name, or "" where nobody knows, and it is looked for.
void warn_positions_lost(GstElement* self, const std::string& moved_by);

}  // namespace cuface::gst
