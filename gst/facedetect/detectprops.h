// The properties of cufacedetect.
#pragma once

#include <gst/gst.h>

#include <string>

#include "kernels/detect/detect.h"

namespace cuface::gst {

/// Whether searches are spread over frames. kAuto: where it keeps frames of a camera from coming
/// late. The first two values are those of a boolean, which the property once was.
enum class Spread { kFalse, kTrue, kAuto };

struct DetectSettings {
  std::string cascade;
  guint redetect_interval = 0;
  bool qos = true;
  GstClockTime max_search_delay = GST_SECOND;  ///< in ns
  Spread spread = Spread::kAuto;
  DetectConfig config = {.threads = 0, .verify = true};
  guint config_changes = 0;  ///< counts writes of `config`
};

void install_detect_properties(GObjectClass* klass);

/// Sets or gets the property `id`; false when it is none of these.
bool set_detect_property(DetectSettings& settings, guint id, const GValue* value);
bool get_detect_property(const DetectSettings& settings, guint id, GValue* value);

}  // namespace cuface::gst
