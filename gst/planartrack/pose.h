// A pose as others get it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "gst/meta/planar.h"
#include "kernels/planar/planar.h"

namespace cuface::gst {

inline PlanarObject object_of(const PlanarPose& pose, std::int32_t picture, std::uint64_t id) {
  PlanarObject object{picture, id, pose.found, pose.inliers, {}, pose.map};
  std::copy(std::begin(pose.corners), std::end(pose.corners), object.corners);
  return object;
}

}  // namespace cuface::gst
