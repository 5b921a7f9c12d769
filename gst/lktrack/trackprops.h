// One property for each rule of the tracker (kernels/track/track.h).
#pragma once

#include <vector>

#include "gst/faces/faceelement.h"
#include "kernels/track/track.h"

namespace cuface::gst {

struct TrackSettings : FaceSettings {
  TrackConfig config;
  bool post_messages = false;
};

std::vector<Setting> track_settings();

}  // namespace cuface::gst
