// A frame whose picture says nothing: the tracker waits. One source for the CPU and for CUDA.
#pragma once

#include "kernels/common/host_device.h"
#include "kernels/faces/faces.h"
#include "kernels/track/detections.h"
#include "kernels/track/state.h"

namespace cuface::track {

/// Every track stays where it is and gets a frame older; no track is lost, confirmed or started.
/// Faces in doubt are still to be searched for. Time does not pass: the next frame's `elapsed`
/// counts from the last picture, because its flow does.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void gap_frame(const Lanes& lanes, State& state, int height, Outcome& out) {
  lanes.each(state.count, [&](int i) {
    Track& t = state.of(i);
    t.followed = 0;  // nothing carried these points here
    ++t.face.age;
    t.face.neighbors = -1;
    t.face.origin = Origin::kTracked;
  });
  lanes.once([&] {
    out = {};
    if (state.count > state.faces()) out.search_wanted = tentative_region(state, height);
  });
}

}  // namespace cuface::track
