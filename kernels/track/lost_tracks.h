// How tracks that were lost on a frame end: which stay, which are remembered as ghosts. One source
// for the CPU and for CUDA.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cells/region.h"
#include "kernels/common/host_device.h"
#include "kernels/track/state.h"
#include "kernels/track/track.h"

namespace cuface::track {

/// The events of a frame.
struct Outcome {
  int lost;  // tracks that ended, without those in doubt
  int lost_by[kLossCount];
  SearchRegion search_wanted;
};

/// The fate of a track: lost tracks become ghosts; tentative ones are dropped.
enum class Fate : std::uint8_t { kKept, kBuried, kDropped };

/// What the lanes that sort the tracks share.
struct FateScratch {
  std::uint8_t slot[kMaxTracks];  // of tracks, before any is taken out
  Fate fate[kMaxTracks];          // of tracks
};

/// How many tracks have which.
struct Fates {
  int kept, buried;
};

/// Puts the tracks that are kept first, then those that are buried, then the others; state.count
/// stays.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD Fates sort_by_fate(const Lanes& lanes, State& state, FateScratch& scratch) {
  const int tracks = state.count;
  lanes.each(tracks, [&](int i) {
    const std::uint8_t slot = state.slot[i];
    const Track& t = state.track[slot];
    scratch.slot[i] = slot;
    scratch.fate[i] = !t.lost ? Fate::kKept : is_tentative(t) ? Fate::kDropped : Fate::kBuried;
  });
  const auto put = [&](Fate fate, int first) {
    return lanes.pick(
        tracks, [&](int i) { return scratch.fate[i] == fate; },
        [&](int i, int place) { state.slot[first + place] = scratch.slot[i]; });
  };
  const int kept = put(Fate::kKept, 0);
  if (kept == tracks) return {kept, 0};
  const int buried = put(Fate::kBuried, kept);
  put(Fate::kDropped, kept + buried);
  return {kept, buried};
}

/// Takes lost tracks out and remembers those for a while that were not in doubt; by one lane.
CUFACE_HD inline void bury_lost(State& state, const Fates& fates, Outcome& out) {
  out = {};
  out.lost = fates.buried;
  state.count = fates.kept;
  const int forgotten = std::max(0, state.ghosts + fates.buried - kMaxTracks);
  for (int g = forgotten; g < state.ghosts; ++g) state.ghost[g - forgotten] = state.ghost[g];
  state.ghosts -= forgotten;
  for (int i = 0; i < fates.buried; ++i) {
    const Track& t = state.of(fates.kept + i);
    ++out.lost_by[static_cast<int>(t.reason)];
    const std::uint8_t appearance = free_appearance(state);
    state.ghost[state.ghosts++] = {t.face.id,  t.face.box,    0,          t.confirmed_box,
                                   t.velocity, t.unconfirmed, appearance, t.views};
  }
}

}  // namespace cuface::track
