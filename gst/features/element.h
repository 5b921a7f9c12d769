// cufeatures and cusurf, as the plugin registers it.
#pragma once

#include "gst/base/element.h"

namespace cuface::gst {

extern const ElementInfo kFeatureDetect;
extern const ElementInfo kSurf;  ///< works where has_surf()

}  // namespace cuface::gst
