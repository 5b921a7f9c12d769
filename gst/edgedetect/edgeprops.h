// The properties of cuedgedetect.
#pragma once

#include <vector>

#include "gst/base/settings.h"
#include "kernels/edges/edges.h"

namespace cuface::gst {

enum class EdgeOutput { kPicture, kGradient, kAngle, kMeta };

struct EdgeSettings {
  EdgeConfig edges;
  EdgeOutput output = EdgeOutput::kPicture;
  bool mask = false;
};

std::vector<Setting> edge_settings();

/// The effective settings: an even kernel size becomes the next odd one, and Scharr's and Prewitt's
/// operators have aperture 3.
EdgeConfig config_of(const EdgeSettings& settings);

}  // namespace cuface::gst
