// The properties of cufacedetect.
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

#include "gst/faces/faceelement.h"
#include "kernels/detect/detect.h"

namespace cuface::gst {

/// Whether searches are spread over frames. kAuto: where it keeps frames of a camera from coming
/// late. The first two values are those of a boolean, which the property once was.
enum class Spread { kFalse, kTrue, kAuto };

struct DetectSettings : FaceSettings {
  std::string cascade;
  guint redetect_interval = 0;
  bool qos = true;
  GstClockTime max_search_delay = GST_SECOND;  ///< in ns
  Spread spread = Spread::kAuto;
  DetectConfig config = {.threads = 0, .verify = true};
};

std::vector<Setting> detect_settings();

}  // namespace cuface::gst
