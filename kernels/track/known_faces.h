// Recognises faces by their descriptors: keeps views of followed faces after a loss, and compares
// them with new faces. One source for the CPU and for CUDA.
#pragma once

#include <cstdint>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/track/face_views.h"
#include "kernels/track/state.h"

namespace cuface::track {

/// The ghost that a detection is, by its descriptors: distance 0, and -1 of all others. `frame` has
/// a memory.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void recognise(const Lanes& lanes, const State& state, const TrackedFrame& frame,
                         const Box& found, float* distance, float* likeness) {
  const int ghosts = state.ghosts;
  if (ghosts == 0) return;
  KnownFaces& memory = *frame.memory;
  const bool tells = found.w >= kLeastFace;
  if (tells) {
    draw_face(lanes, frame.now, found, memory);
    probe_face(lanes, frame.pattern, memory);
    compare_views(
        lanes, ghosts, memory, [&](int g) { return state.ghost[g].views; },
        [&](int g) { return state.ghost[g].appearance; });
  }
  lanes.once([&] {
    const int known = tells ? known_ghost(memory.least, ghosts) : -1;
    for (int g = 0; g < ghosts; ++g) {
      distance[g] = g == known ? 0.0f : -1.0f;
      likeness[g] = 0;
    }
  });
}

/// Describes the faces that were found on this frame. `frame` has a memory.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void remember_views(const Lanes& lanes, State& state, const TrackedFrame& frame) {
  KnownFaces& memory = *frame.memory;
  for (int i = 0; i < state.count; ++i) {
    const std::uint8_t slot = state.slot[i];
    Track& t = state.track[slot];
    if (t.unconfirmed > 0 || t.face.box.w < kLeastFace) continue;
    draw_face(lanes, frame.now, t.face.box, memory);
    lanes.once([&] {
      if (t.views > 0 && t.view_time < kViewTime) return;
      if (t.views > 0) t.newest_view = (t.newest_view + 1) % kViews;
      if (t.views < kViews) ++t.views;
      t.view_time = 0;
    });
    describe_face(lanes, frame.pattern, memory, memory.of_track[slot].view[t.newest_view]);
  }
}

/// A track's views become its ghost's.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void keep_views(const Lanes& lanes, KnownFaces& memory, int slot, const Ghost& ghost) {
  const Views& views = memory.of_track[slot];
  Views& kept = memory.of_ghost[ghost.appearance];
  constexpr int kEach = kPlaces * kWords;
  lanes.each(ghost.views * kEach, [&](int k) {
    const int view = k / kEach, place = k % kEach / kWords, word = k % kWords;
    kept.view[view].at[place].word[word] = views.view[view].at[place].word[word];
  });
}

}  // namespace cuface::track
