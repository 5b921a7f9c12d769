// A Haar cascade and dlib's detector put their boxes differently around the same face (trap 13):
// this maps the box of a named cascade to the one the landmark model was trained on.
#pragma once

#include <string_view>

#include "kernels/common/geometry.h"

namespace cuface {

/// Side times `scale` about the centre, then moved down by `shift_y` of the ORIGINAL side.
struct BoxMap {
  float scale = 1, shift_x = 0, shift_y = 0;
  Box apply(const Box& box) const;
};

/// The map for boxes of the cascade with this file stem; calibrated by tests/models/calibrate (the
/// result is committed under docs/results/). Unknown names give the map of frontalface_alt for
/// square windows' cascades, so a custom cascade still works; "" (boxes that need no map) gives the
/// identity.
BoxMap box_map_for(std::string_view cascade);

}  // namespace cuface
