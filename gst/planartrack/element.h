// cuplanartrack, as the plugin registers it.
#pragma once

#include "gst/base/element.h"

namespace cuface::gst {

extern const ElementInfo kPlanarTrack;

}  // namespace cuface::gst
