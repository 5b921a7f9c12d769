// The properties of cufacedetect.
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

#include "gst/faces/faceelement.h"
#include "kernels/common/backend.h"
#include "kernels/common/status.h"
#include "kernels/common/workers.h"
#include "kernels/detect/detect.h"
#include "kernels/network/network.h"

namespace cuface::gst {

/// Whether searches are spread over frames. kAuto: where it keeps frames of a camera from coming
/// late. The first two values are those of a boolean, which the property once was.
enum class Spread { kFalse, kTrue, kAuto };

/// What is searched, and when: the whole picture every interval; besides, what has changed and
/// where faces are followed; only what has changed.
enum class Search { kFull, kSmart, kMotion };

/// The settings for which a network is planned.
struct NetworkSettings {
  NetworkConfig config;
  int input_size = 640;
  int threads = 0;
  /// For the colour picture on the CPU.
  int scaler_threads() const { return threads > 0 ? threads : Workers::processors(); }
  friend bool operator==(const NetworkSettings&, const NetworkSettings&) = default;
};

struct DetectSettings : FaceSettings {
  std::string cascade, model;
  float score_threshold = 0.6f, nms_threshold = 0.3f;
  int input_size = 640;
  NetworkPrecision precision = NetworkPrecision::kFloat;
  guint redetect_interval = 0;
  bool qos = true;
  GstClockTime max_search_delay = GST_SECOND;  ///< in ns
  Spread spread = Spread::kAuto;
  Search search = Search::kFull;
  DetectConfig config = {.threads = 0, .verify = true};

  DetectConfig cascade_config() const {
    DetectConfig out = config;
    out.active_parts = search != Search::kFull;
    return out;
  }
  NetworkSettings network() const {
    return {{.score_threshold = score_threshold,
             .nms_threshold = nms_threshold,
             .precision = precision},
            input_size,
            config.threads};
  }
};

/// kUnsupported, with the way out, where a network cannot be computed so on this processor.
Status check_precision(NetworkPrecision precision, Backend backend);

/// The properties that are set and mean nothing to a network, for a warning; "" = none.
std::string ignored_by_networks(const DetectSettings& settings);

std::vector<Setting> detect_settings();

}  // namespace cuface::gst
