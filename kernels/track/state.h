// What the tracker remembers from frame to frame, and what a frame does to it: one source for the
// CPU and for CUDA. Both call, for every frame,
//   begin_frame; for every track age_track and, unless it is lost, carry_track; conclude_frame
// and put the flow of the points (choose_points) before carry_track.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/faces/faces.h"
#include "kernels/track/rules.h"
#include "kernels/track/track.h"

namespace cuface::track {

/// Faces of one frame as plain arrays of somebody else's; none at all by default.
struct Faces {
  const Face* faces = nullptr;
  const Point* landmarks = nullptr;
  int count = 0;
  int landmarks_per_face = 0;
  bool searched = false;

  CUFACE_HD const Point* landmarks_of(int face) const {
    return landmarks + face * landmarks_per_face;
  }
};

/// What the tracker is told about one frame, less the picture.
struct Frame {
  Faces faces;
  Faces feedback;
  std::uint64_t number = 0;
  double elapsed = 0;  ///< seconds, known_elapsed()
  int width = 0, height = 0;
  int max_landmarks = kMaxTrackPoints;  ///< of a detection; more count as none
};

CUFACE_HD inline double known_elapsed(double elapsed) { return elapsed > 0 ? elapsed : 1.0 / 30; }

struct Track {
  Face face;
  int confirmed = 0;       // searches that found it
  int missed = 0;          // searches in a row that did not find it
  double unconfirmed = 0;  // seconds since the last confirmation
  bool lost = false;       // decided on this frame
  Loss reason = Loss::kPoints;
  int landmarks = 0;       // held here, from the elements before (order detect, landmark, track)
  int shape_points = 0;    // of the fed-back shape at the last confirmation
  Box confirmed_box;       // at the last confirmation
  Box motion_box;          // at the one that the velocity is next counted from,
  double motion_time = 0;  // which was so many seconds ago
  Point velocity;          // px/s
};

/// A lost track that may come back.
struct Ghost {
  std::uint64_t id = 0;
  Box box;         // where it was lost
  double age = 0;  // seconds
  Box confirmed_box;
  Point velocity;
  double unconfirmed = 0;  // seconds
};

struct State {
  std::uint64_t last_id = 0;
  int count = 0;            // tracks
  int ghosts = 0;           // oldest first
  bool had_tracks = false;  // when this frame began
  /// Where tracks lie: the first `count` are the tracks by id, the others are free.
  std::uint8_t slot[kMaxTracks] = {};
  Track track[kMaxTracks];
  Ghost ghost[kMaxTracks];
  Point landmark[kMaxTracks][kMaxTrackPoints];
  Point shape[kMaxTracks][kMaxTrackPoints];  // at the last confirmation

  CUFACE_HD Track& of(int i) { return track[slot[i]]; }
  CUFACE_HD const Track& of(int i) const { return track[slot[i]]; }
};

inline void start_state(State& state, std::uint64_t first_id) {
  state.last_id = first_id - 1;
  for (int i = 0; i < kMaxTracks; ++i) state.slot[i] = static_cast<std::uint8_t>(i);
}

/// Forgets tracks and ghosts, not the ids.
CUFACE_HD inline void end_tracks(State& state) { state.count = state.ghosts = 0; }

/// By one lane.
CUFACE_HD inline void begin_frame(State& state, const Frame& frame, const TrackConfig& config) {
  int kept = 0;
  for (int i = 0; i < state.ghosts; ++i) {
    Ghost g = state.ghost[i];
    g.age += frame.elapsed;
    g.unconfirmed += frame.elapsed;
    if (g.age <= static_cast<double>(config.revive_time)) state.ghost[kept++] = g;
  }
  state.ghosts = kept;
  state.had_tracks = state.count > 0;
}

CUFACE_HD inline const Point* find_landmarks(const Faces& list, std::uint64_t id) {
  if (list.landmarks_per_face < 2 || list.landmarks_per_face > kMaxTrackPoints) return nullptr;
  for (int i = 0; i < list.count; ++i) {
    if (list.faces[i].id == id) return list.landmarks_of(i);
  }
  return nullptr;
}

/// The points a track is followed by; those of a grid in its box have no array.
struct Points {
  const Point* array;
  int count;
};

CUFACE_HD inline Points choose_points(const State& state, int slot, const Faces& feedback) {
  const Track& t = state.track[slot];
  if (const Point* fed = find_landmarks(feedback, t.face.id)) {
    return {fed, feedback.landmarks_per_face};
  }
  if (t.landmarks >= 2) return {state.landmark[slot], t.landmarks};
  return {nullptr, kGridPoints};
}

CUFACE_HD inline Point point_at(const Points& points, const Box& box, int i) {
  return points.array ? points.array[i] : grid_point(box, i);
}

/// Compares the shape regressed in a track's box with the one at its last confirmation.
CUFACE_HD inline void check_shape(Track& t, std::span<const Point> before,
                                  std::span<const Point> now, float max_change) {
  const float change = shape_distance(before, now);
  if (!(change >= 0 && change <= max_change * t.face.box.w)) {
    t.lost = true;
    t.reason = Loss::kShape;
  }
}

CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void age_track(const Lanes& lanes, State& state, int slot, const Frame& frame,
                         const TrackConfig& config) {
  Track& t = state.track[slot];
  const Point* fed = find_landmarks(frame.feedback, t.face.id);
  const int n = frame.feedback.landmarks_per_face;
  const bool fresh = fed && t.face.age == 0;
  lanes.each(fresh ? n : 0, [&](int i) { state.shape[slot][i] = fed[i]; });
  lanes.once([&] {
    if (fresh) {
      t.shape_points = n;
    } else if (fed && t.shape_points == n && config.max_shape_change > 0) {
      const auto count = static_cast<std::size_t>(n);
      check_shape(t, std::span<const Point>(state.shape[slot], count),
                  std::span<const Point>(fed, count), config.max_shape_change);
    }
    ++t.face.age;
    t.unconfirmed += frame.elapsed;
    t.motion_time += frame.elapsed;
  });
}

/// One random stream per frame and face.
CUFACE_HD inline std::uint64_t seed_of(std::uint64_t frame, std::uint64_t id) {
  return frame * 0xd1342543de82ef95u ^ id * 0xaf251af3b0f025b5u;
}

/// Carries a track to where its points went, or marks it lost where it was. `from` are the points
/// that choose_points() chose; `own` says that they are the track's landmarks.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void carry_track(const Lanes& lanes, State& state, int slot, const Frame& frame,
                           const TrackConfig& config, bool own, std::span<const Point> from,
                           std::span<const Point> to, std::span<const Point> back,
                           std::span<std::uint8_t> good, Motion& motion, MotionScratch& scratch) {
  Track& t = state.track[slot];
  judge_motion(lanes, t.face.box, from, to, back, good, config, seed_of(frame.number, t.face.id),
               frame.width, frame.height, motion, scratch);
  lanes.each(motion.lost ? 0 : t.landmarks, [&](int i) {
    // Landmarks that could not be followed keep their place in the face.
    const auto k = static_cast<std::size_t>(i);
    Point& p = state.landmark[slot][i];
    p = own && good[k] ? to[k] : motion.similarity.apply(p);
  });
  lanes.once([&] {
    if (motion.lost) {
      t.lost = true;
      t.reason = motion.reason;
      return;
    }
    t.face.box = motion.box;
    t.face.confidence = motion.check / static_cast<float>(1 + t.missed);
    t.face.neighbors = -1;
    t.face.origin = Origin::kTracked;
  });
}

/// A box to start or confirm a track with: finite, and some of it inside the frame.
CUFACE_HD inline bool usable(const Box& b, int width, int height) {
  return b.w > 0 && b.h > 0 && b.x - b.x == 0 && b.y - b.y == 0 && b.w - b.w == 0 &&
         b.h - b.h == 0 && visible_fraction(b, width, height) > 0;
}

/// What happened on a frame.
struct Outcome {
  int lost;  // tracks that ended
  int lost_by[kLossCount];
  bool search_wanted;
};

/// What the lanes that conclude a frame share.
struct ConcludeScratch {
  Box tracks[kMaxTracks], boxes[kMaxTracks];  // of tracks and of usable detections
  int face_of[kMaxTracks];                    // the detections' places among the faces
  int detections;
  int match[kMaxTracks];       // of tracks
  bool used[kMaxTracks];       // detections
  int source[kMaxTracks];      // by slot: the face whose landmarks the track takes over, or -1
  float distance[kMaxTracks];  // of ghosts
  AssociateScratch associate;
};

/// The landmarks are copied later, by all lanes.
CUFACE_HD inline void confirm(Track& t, const Frame& frame, int face, int& source) {
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
  t.missed = 0;
  t.unconfirmed = 0;
  t.lost = false;
  t.shape_points = 0;
  const int n = frame.faces.landmarks_per_face;
  t.landmarks = n >= 2 && n <= frame.max_landmarks ? n : 0;
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

/// The track that a free detection belongs to although their boxes lie apart, or -1: what covers a
/// face may drag its track along, until the face comes out where its own motion has taken it.
CUFACE_HD inline int dragged_track(const State& state, const Box& now, const TrackConfig& config) {
  int nearest = -1;
  float least = 0;
  for (int i = 0; i < state.count; ++i) {
    const Track& t = state.of(i);
    if (t.missed == 0 || !(t.unconfirmed <= static_cast<double>(config.revive_time))) continue;
    const float distance = onward_distance2(t, now, config);
    if (distance >= 0 && (nearest < 0 || distance < least)) {
      nearest = i;
      least = distance;
    }
  }
  return nearest;
}

/// Takes the ghost that is nearest (scratch distances, negative = too far) out and gives its id, or
/// a new one.
CUFACE_HD inline std::uint64_t revive_or_count(State& state, const float* distance) {
  int nearest = -1;
  for (int g = 0; g < state.ghosts; ++g) {
    if (distance[g] >= 0 && (nearest < 0 || distance[g] < distance[nearest])) nearest = g;
  }
  if (nearest < 0) return ++state.last_id;
  const std::uint64_t id = state.ghost[nearest].id;
  --state.ghosts;
  for (int g = nearest; g < state.ghosts; ++g) state.ghost[g] = state.ghost[g + 1];
  return id;
}

/// A detection without a track: a face that was lost here a moment ago, or a new one.
CUFACE_HD inline void start_track(State& state, const Frame& frame, int face,
                                  ConcludeScratch& scratch) {
  const std::uint64_t id = revive_or_count(state, scratch.distance);
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

/// What a search says about a track that it did not confirm. Does not change what it reads of the
/// others: those it changes have been missed.
CUFACE_HD inline void apply_search(State& state, int i, const TrackConfig& config) {
  Track& t = state.of(i);
  if (t.lost || t.missed == 0) return;
  bool same = false;
  for (int k = 0; k < state.count; ++k) {
    const Track& other = state.of(k);
    same = same || (other.missed == 0 && !other.lost &&
                    overlap(t.face.box, other.face.box) >= config.min_overlap);
  }
  const bool held =
      t.confirmed >= config.min_confirmed && t.unconfirmed <= static_cast<double>(config.hold_time);
  const bool stale = t.missed > config.max_missed && !held;
  if (same || stale) {
    t.lost = true;
    t.reason = Loss::kMissed;
  }
}

CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void match_detections(const Lanes& lanes, State& state, const Frame& frame,
                                const TrackConfig& config, ConcludeScratch& scratch) {
  const Faces& faces = frame.faces;
  lanes.each(kMaxTracks, [&](int i) {
    if (i < state.count) scratch.tracks[i] = state.of(i).face.box;
    scratch.used[i] = false;
    scratch.source[i] = -1;
  });
  lanes.once([&] {
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
  lanes.each(tracks, [&](int i) {
    const int d = scratch.match[i];
    if (d >= 0) {
      scratch.used[d] = true;
      confirm(state.of(i), frame, scratch.face_of[d], scratch.source[state.slot[i]]);
    } else if (faces.searched) {
      ++state.of(i).missed;
    }
  });
  lanes.each(tracks, [&](int i) { apply_search(state, i, config); });
  for (int d = 0; d < detections; ++d) {
    if (scratch.used[d]) continue;
    const int face = scratch.face_of[d];
    lanes.each(state.ghosts, [&](int g) {
      scratch.distance[g] = ghost_distance2(state.ghost[g], faces.faces[face].box, config);
    });
    lanes.once([&] {
      const int dragged = dragged_track(state, faces.faces[face].box, config);
      if (dragged >= 0) {
        confirm(state.of(dragged), frame, face, scratch.source[state.slot[dragged]]);
      } else if (state.count < config.max_faces) {
        start_track(state, frame, face, scratch);
      }
    });
  }
  const int n = faces.landmarks_per_face;
  lanes.each(n >= 2 && n <= frame.max_landmarks ? state.count * n : 0, [&](int k) {
    const int slot = state.slot[k / n], face = scratch.source[slot];
    if (face >= 0) state.landmark[slot][k % n] = faces.landmarks_of(face)[k % n];
  });
}

/// Takes lost tracks out and remembers them for a while; by one lane.
CUFACE_HD inline void bury_lost(State& state, Outcome& out) {
  out = {};
  std::uint8_t buried[kMaxTracks];
  int kept = 0;
  for (int i = 0; i < state.count; ++i) {
    const std::uint8_t slot = state.slot[i];
    const Track& t = state.track[slot];
    if (t.lost) {
      buried[out.lost++] = slot;
      ++out.lost_by[static_cast<int>(t.reason)];
    } else {
      state.slot[kept++] = slot;
    }
  }
  const int forgotten = std::max(0, state.ghosts + out.lost - kMaxTracks);
  for (int g = forgotten; g < state.ghosts; ++g) state.ghost[g - forgotten] = state.ghost[g];
  state.ghosts -= forgotten;
  for (int i = 0; i < out.lost; ++i) {
    const Track& t = state.track[buried[i]];
    state.ghost[state.ghosts++] = {t.face.id,       t.face.box, 0,
                                   t.confirmed_box, t.velocity, t.unconfirmed};
    state.slot[kept + i] = buried[i];
  }
  state.count = kept;
}

CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void conclude_frame(const Lanes& lanes, State& state, const Frame& frame,
                              const TrackConfig& config, ConcludeScratch& scratch, Outcome& out) {
  if (frame.faces.searched || frame.faces.count > 0) {
    match_detections(lanes, state, frame, config, scratch);
  }
  lanes.once([&] {
    bury_lost(state, out);
    out.search_wanted = state.had_tracks && state.count == 0;
  });
}

/// Landmarks of each track, 0 where they differ.
CUFACE_HD inline int common_landmarks(const State& state) {
  const int n = state.count > 0 ? state.of(0).landmarks : 0;
  for (int i = 1; i < state.count; ++i) {
    if (state.of(i).landmarks != n) return 0;
  }
  return n;
}

}  // namespace cuface::track
