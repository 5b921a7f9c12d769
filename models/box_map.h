// Haar cascades, networks and dlib's detector put their boxes differently around the same face:
// this maps the box of a named detector to the one the landmark model was trained on. The map is
// calibrated for dlib's models; loaders put it into ForestModel::box_maps, and our own model file
// keeps it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/landmarks/landmarks.h"

namespace cuface {

/// The maps of dlib's models, calibrated by tests/models/calibrate (result:
/// docs/results/box-map.json).
std::vector<std::pair<std::string, BoxMap>> dlib_box_maps();

/// The model's map for boxes of the cascade with this file stem, or of networks ("yunet"). A name
/// it does not know gives the map of haarcascade_frontalface_alt, so a custom face cascade still
/// works. A model with dlib's map for that cascade has dlib's other maps, too: its file may have
/// been written before there were as many. "" (boxes that need no map) and a model without maps
/// give the identity. Thread-safe.
BoxMap box_map_for(const ForestModel& model, std::string_view detector);

}  // namespace cuface
