// The face elements, each from the folder of its name, as the plugin registers them.
#pragma once

#include "gst/base/element.h"

namespace cuface::gst {

extern const ElementInfo kFaceDetect, kLkTrack, kFaceLandmark, kFaceOverlay, kFacePublish,
    kFace2Json;

}  // namespace cuface::gst
