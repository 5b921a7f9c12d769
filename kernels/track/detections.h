// Applies the detections of a frame to the tracks: confirms, revives, doubts, starts and ends them.
// One source for the CPU and for CUDA.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/faces/faces.h"
#include "kernels/track/appearance.h"
#include "kernels/track/known_faces.h"
#include "kernels/track/loss_rules.h"
#include "kernels/track/lost_tracks.h"
#include "kernels/track/state.h"
#include "kernels/track/track.h"

namespace cuface::track {

/// A box to start or confirm a track with: finite, and some of it inside the frame.
CUFACE_HD inline bool usable(const Box& b, int width, int height) {
  return b.w > 0 && b.h > 0 && b.x - b.x == 0 && b.y - b.y == 0 && b.w - b.w == 0 &&
         b.h - b.h == 0 && visible_fraction(b, width, height) > 0;
}

/// What the lanes that finish a frame share.
struct DetectionScratch {
  Box tracks[kMaxTracks], boxes[kMaxTracks];  // of tracks and of usable detections
  int face_of[kMaxTracks];                    // the detections' places among the faces
  int detections;
  bool search_again;           // a part of a face hid from the detector that it found no face
  int match[kMaxTracks];       // of tracks
  bool used[kMaxTracks];       // detections
  int source[kMaxTracks];      // by slot: the face whose landmarks the track takes over, or -1
  float distance[kMaxTracks];  // of ghosts
  float likeness[kMaxTracks];  // of ghosts: with the detection; 0 where nobody asks
  /// On this frame in a detection; of a track on the frame before, and there on this one.
  std::int32_t appearance[3][kAppearanceCells];
  AssociateScratch associate;
  FateScratch fates;
};

/// The landmarks are copied later, by all lanes.
CUFACE_HD inline void confirm(Track& t, const TrackedFrame& frame, int face, int& source) {
  const std::uint64_t id = t.face.id;
  const Box& box = frame.faces.faces[face].box;
  if (t.motion_time >= kMotionTime) t.velocity = velocity_of(t.motion_box, box, t.motion_time);
  if (t.motion_time >= kMotionTime || t.confirmed == 0) {
    t.motion_box = box;
    t.motion_time = 0;
  }
  t.confirmed_box = box;
  t.face = frame.faces.faces[face];
  t.face.id = id;
  t.face.age = 0;
  ++t.confirmed;
  t.finds.add(t.face);
  t.missed = 0;
  t.unconfirmed = 0;
  t.lost = false;
  t.shape_points = 0;
  const int n = frame.faces.landmarks_per_face;
  t.landmarks = n >= 2 && n <= frame.max_landmarks ? n : 0;
  t.confident = frame.faces.confidences != nullptr;
  t.asks = false;
  if (t.landmarks > 0) t.followed = 0;  // there is room for one of them
  source = t.landmarks > 0 ? face : -1;
}

/// As revive_distance2(), to where a face's motion would have taken it since it was confirmed;
/// `seen` is a track or a ghost.
template <typename Seen>
CUFACE_HD float onward_distance2(const Seen& seen, const Box& now, const TrackConfig& config) {
  if (!(config.revive_motion > 0)) return -1;
  const double seconds = std::min(seen.unconfirmed, static_cast<double>(config.revive_motion));
  return revive_distance2(moved_on(seen.confirmed_box, seen.velocity, seconds), now,
                          config.revive_distance);
}

/// As revive_distance2(), to where the ghost was lost or to where its motion would have taken it.
CUFACE_HD inline float ghost_distance2(const Ghost& g, const Box& now, const TrackConfig& config) {
  const float there = revive_distance2(g.box, now, config.revive_distance);
  const float onward = onward_distance2(g, now, config);
  return there < 0 || (onward >= 0 && onward < there) ? onward : there;
}

/// The track of a free detection although their boxes lie apart, or -1. An object that covers a
/// face may drag its track along, until the face comes out where its own motion has taken it.
CUFACE_HD inline int dragged_track(const State& state, const Box& now, const TrackConfig& config) {
  int nearest = -1;
  float least = 0;
  for (int i = 0; i < state.count; ++i) {
    const Track& t = state.of(i);
    if (t.missed == 0 || t.replaced || !(t.unconfirmed <= static_cast<double>(config.revive_time)))
      continue;
    const float distance = onward_distance2(t, now, config);
    if (distance >= 0 && (nearest < 0 || distance < least)) {
      nearest = i;
      least = distance;
    }
  }
  return nearest;
}

/// Takes the ghost that is most alike, of equal ones the nearest (scratch distances, negative = too
/// far) out and gives its id, or a new one.
CUFACE_HD inline std::uint64_t revive_or_count(State& state, const float* distance,
                                               const float* likeness, bool tentative) {
  int nearest = -1;
  for (int g = 0; g < state.ghosts; ++g) {
    if (distance[g] < 0) continue;
    const bool nearer = nearest < 0 || likeness[g] > likeness[nearest] ||
                        (likeness[g] == likeness[nearest] && distance[g] < distance[nearest]);
    if (nearer) nearest = g;
  }
  if (nearest < 0) return tentative ? ++state.last_tentative : ++state.last_id;
  const std::uint64_t id = state.ghost[nearest].id;
  --state.ghosts;
  for (int g = nearest; g < state.ghosts; ++g) state.ghost[g] = state.ghost[g + 1];
  return id;
}

/// The track of the face that a cascade's turned find is only a part of, or -1: a cheek and half a
/// mouth may look like a turned face to it. A network's boxes that overlap are several faces.
CUFACE_HD inline int track_around(const State& state, const Face& face) {
  if (face.roll.sin == 0 || face.has_keypoints) return -1;
  for (int i = 0; i < state.count; ++i)
    if (!state.of(i).lost && is_one_head(face.box, state.of(i).face.box)) return i;
  return -1;
}

/// A detection without a track: a face that was lost here a moment ago, or a new one. What searches
/// before this one did not see is tentative while it is weak.
CUFACE_HD inline void start_track(State& state, const TrackedFrame& frame, int face,
                                  const TrackConfig& config, DetectionScratch& scratch) {
  Finds finds;
  finds.add(frame.faces.faces[face]);
  const bool tentative = state.searched && !finds.are_enough(config);
  const std::uint64_t id = revive_or_count(state, scratch.distance, scratch.likeness, tentative);
  const std::uint8_t slot = state.slot[state.count];
  int place = state.count++;
  for (; place > 0 && state.of(place - 1).face.id > id; --place) {
    state.slot[place] = state.slot[place - 1];
  }
  state.slot[place] = slot;
  state.track[slot] = Track{};
  state.track[slot].face.id = id;
  confirm(state.track[slot], frame, face, scratch.source[slot]);
}

/// The effect of a search on a track that it did not confirm. Does not change what it reads of the
/// others: those it changes have been missed.
CUFACE_HD inline void apply_search(State& state, int i, const TrackedFrame& frame,
                                   const TrackConfig& config) {
  Track& t = state.of(i);
  if (t.lost || t.missed == 0) return;
  if (frame.faces.part.is_part() && !frame.faces.looked_at(t.face.box, frame.height)) return;
  bool same = false;
  for (int k = 0; k < state.count; ++k) {
    const Track& other = state.of(k);
    same = same || (other.missed == 0 && !other.lost &&
                    intersection_over_union(t.face.box, other.face.box) >= config.min_overlap);
  }
  const bool held = !is_tentative(t) && t.confirmed >= config.min_confirmed &&
                    t.unconfirmed <= static_cast<double>(config.hold_time);
  const bool stale = t.missed > config.max_missed && !held;
  if (same || stale) {
    t.lost = true;
    t.reason = Loss::kMissed;
  }
}

/// Whether a search of this frame should have found a track that it did not confirm. The search of
/// a band may, on the frame before, have found a face that trembles at its border.
CUFACE_HD inline bool is_missed(const Track& t, const TrackedFrame& frame) {
  const Faces& faces = frame.faces;
  return faces.looked_at(t.face.box, frame.height) &&
         (faces.searched || faces.part.active_only || t.face.age > 1 ||
          is_in(faces.part, t.face.box, frame.height, -kWellInside));
}

/// Where to look for the face in doubt that was not found for longest: one after the other, each in
/// a small part of the picture. There is one in doubt.
CUFACE_HD inline SearchRegion tentative_region(const State& state, int height) {
  int oldest = state.faces();
  for (int i = oldest + 1; i < state.count; ++i) {
    if (state.of(i).face.age > state.of(oldest).face.age) oldest = i;
  }
  return band_around(state.of(oldest).face.box, height);
}

/// Where to look for the first face that asks for a search, or nothing. By one lane.
CUFACE_HD inline SearchRegion weak_region(State& state, int height) {
  for (int i = 0; i < state.count; ++i) {
    Track& t = state.of(i);
    if (!t.asks) continue;
    t.asks = false;
    return band_around(t.face.box, height);
  }
  return {};
}

/// Whether the search of a band has missed a track and none is left that was found last: then, as
/// after a whole search that finds nothing, the next frame is searched. A search of active parts is
/// followed by another by itself.
CUFACE_HD inline bool nothing_is_found(const State& state, const TrackedFrame& frame) {
  const SearchRegion& part = frame.faces.part;
  if (frame.faces.searched || part.active_only || !part.is_part()) return false;
  bool missed = false;
  for (int i = 0; i < state.count; ++i) {
    const Track& t = state.of(i);
    if (t.missed == 0) return false;
    missed = missed || is_missed(t, frame);
  }
  return missed;
}

/// Takes the detection away from a track that the flow has lost on this frame and that looks
/// otherwise on it than on the frame before: the scene has been cut to another face. The detector's
/// box may lie a little off, and the face may have moved, so that the better of both places counts.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void reject_strangers(const Lanes& lanes, State& state, const TrackedFrame& frame,
                                const TrackConfig& config, DetectionScratch& scratch) {
  if (!(config.min_correlation > 0)) return;
  for (int i = 0; i < state.count; ++i) {
    const int d = scratch.match[i];
    if (d < 0 || !state.of(i).lost) continue;
    const Box &there = scratch.tracks[i], &found = scratch.boxes[d];
    lanes.each(3 * kAppearanceCells, [&](int k) {
      const int which = k / kAppearanceCells, cell = k % kAppearanceCells;
      scratch.appearance[which][cell] =
          appearance_cell(which == 1 ? frame.before : frame.now, which == 0 ? found : there, cell);
    });
    lanes.once([&] {
      const float likeness =
          std::max(appearance_correlation(scratch.appearance[1], scratch.appearance[0]),
                   appearance_correlation(scratch.appearance[1], scratch.appearance[2]));
      if (likeness >= config.min_correlation) return;
      scratch.match[i] = -1;
      state.of(i).replaced = true;
    });
  }
}

/// How far each ghost is from a detection, and how much alike. One that was lost on the frame
/// before and is unlike is too far.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void compare_ghosts(const Lanes& lanes, const State& state, const TrackedFrame& frame,
                              const Box& found, const TrackConfig& config,
                              DetectionScratch& scratch) {
  const int ghosts = state.ghosts;
  const bool compares = config.min_correlation > 0;
  lanes.each(ghosts > 0 && compares ? kAppearanceCells : 0, [&](int cell) {
    scratch.appearance[0][cell] = appearance_cell(frame.now, found, cell);
  });
  lanes.each(ghosts, [&](int g) {
    const Ghost& ghost = state.ghost[g];
    float distance = ghost_distance2(ghost, found, config);
    const bool compared = compares && distance >= 0;
    const float likeness =
        compared ? appearance_correlation(state.appearance[ghost.appearance], scratch.appearance[0])
                 : 0.0f;
    if (compared && ghost.age <= frame.elapsed && likeness < config.min_correlation) distance = -1;
    scratch.distance[g] = distance;
    scratch.likeness[g] = likeness;
  });
}

CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void match_detections(const Lanes& lanes, State& state, const TrackedFrame& frame,
                                const TrackConfig& config, DetectionScratch& scratch) {
  const Faces& faces = frame.faces;
  lanes.each(kMaxTracks, [&](int i) {
    if (i < state.count) scratch.tracks[i] = state.of(i).face.box;
    scratch.used[i] = false;
    scratch.source[i] = -1;
  });
  lanes.once([&] {
    scratch.search_again = false;
    scratch.detections = 0;
    for (int f = 0; f < faces.count && scratch.detections < kMaxTracks; ++f) {
      if (!usable(faces.faces[f].box, frame.width, frame.height)) continue;
      scratch.boxes[scratch.detections] = faces.faces[f].box;
      scratch.face_of[scratch.detections++] = f;
    }
  });
  const int tracks = state.count, detections = scratch.detections;
  associate(lanes, std::span<const Box>(scratch.tracks, static_cast<std::size_t>(tracks)),
            std::span<const Box>(scratch.boxes, static_cast<std::size_t>(detections)),
            config.min_overlap, std::span<int>(scratch.match, static_cast<std::size_t>(tracks)),
            scratch.associate);
  reject_strangers(lanes, state, frame, config, scratch);
  lanes.each(tracks, [&](int i) {
    const int d = scratch.match[i];
    if (d >= 0) {
      scratch.used[d] = true;
      confirm(state.of(i), frame, scratch.face_of[d], scratch.source[state.slot[i]]);
    } else if (is_missed(state.of(i), frame)) {
      ++state.of(i).missed;
    }
  });
  lanes.each(tracks, [&](int i) { apply_search(state, i, frame, config); });
  for (int d = 0; d < detections; ++d) {
    if (scratch.used[d]) continue;
    const int face = scratch.face_of[d];
    const Box& box = faces.faces[face].box;
    if (frame.memory)
      recognise(lanes, state, frame, box, scratch.distance, scratch.likeness);
    else
      compare_ghosts(lanes, state, frame, box, config, scratch);
    lanes.once([&] {
      const int dragged = dragged_track(state, box, config);
      if (dragged >= 0) {
        confirm(state.of(dragged), frame, face, scratch.source[state.slot[dragged]]);
      } else if (const int around = track_around(state, faces.faces[face]); around >= 0) {
        // To the detector it was a find, after which it does not look again by itself.
        scratch.search_again = scratch.search_again || state.of(around).missed > 0;
      } else if (state.count < config.max_faces) {
        start_track(state, frame, face, config, scratch);
      }
    });
  }
  const int n = faces.landmarks_per_face;
  lanes.each(n >= 2 && n <= frame.max_landmarks ? state.count * n : 0, [&](int k) {
    const int slot = state.slot[k / n], face = scratch.source[slot];
    if (face < 0) return;
    state.landmark[slot][k % n] = faces.landmarks_of(face)[k % n];
    if (faces.confidences) state.confidence[slot][k % n] = faces.confidences_of(face)[k % n];
  });
  if (frame.memory) remember_views(lanes, state, frame);
}

/// Tracks in doubt whose finds are enough get their ids; by one lane.
CUFACE_HD inline void promote_tentative(State& state, const TrackConfig& config) {
  int faces = state.faces();
  for (int i = faces; i < state.count; ++i) {
    if (state.of(i).lost || !state.of(i).finds.are_enough(config)) continue;
    const std::uint8_t slot = state.slot[i];
    state.track[slot].face.id = ++state.last_id;
    for (int place = i; place > faces; --place) state.slot[place] = state.slot[place - 1];
    state.slot[faces++] = slot;
  }
}

CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void finish_frame(const Lanes& lanes, State& state, const TrackedFrame& frame,
                            const TrackConfig& config, DetectionScratch& scratch, Outcome& out) {
  const bool told = frame.faces.tell();
  if (told) match_detections(lanes, state, frame, config, scratch);
  lanes.once([&] { promote_tentative(state, config); });
  const Fates fates = sort_by_fate(lanes, state, scratch.fates);
  lanes.once([&] {
    bury_lost(state, fates, out);
    const int faces = state.faces();
    if ((state.had_faces && faces == 0) ||
        (told && (scratch.search_again || nothing_is_found(state, frame))))
      out.search_wanted = kWholePicture;
    else if (state.count > faces)
      out.search_wanted = tentative_region(state, frame.height);
    else
      out.search_wanted = weak_region(state, frame.height);
    state.searched = state.searched || told;
  });
  for (int g = state.ghosts - out.lost; g < state.ghosts; ++g) {
    Ghost& ghost = state.ghost[g];
    lanes.each(kAppearanceCells, [&](int cell) {
      state.appearance[ghost.appearance][cell] = appearance_cell(frame.before, ghost.box, cell);
    });
    // Those that were buried lie behind the tracks, in the order of their ghosts.
    if (frame.memory)
      keep_views(lanes, *frame.memory, state.slot[state.count + g - (state.ghosts - out.lost)],
                 ghost);
    else
      lanes.once([&] { ghost.views = 0; });  // of a track from when there was a memory
  }
}

}  // namespace cuface::track
