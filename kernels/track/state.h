// The tracker's state from frame to frame, and the motion of its tracks to a new frame: one source
// for the CPU and for CUDA. Both call, for every frame,
//   begin_frame; for every track age_track and, unless it is lost, carry_track; finish_frame
// and put the flow of the points (choose_points) before carry_track. finish_frame, in detections.h,
// is what the frame's detections do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/image.h"
#include "kernels/faces/faces.h"
#include "kernels/orb/pattern.h"
#include "kernels/track/appearance.h"
#include "kernels/track/association.h"
#include "kernels/track/face_views.h"
#include "kernels/track/loss_rules.h"
#include "kernels/track/track.h"

namespace cuface::track {

/// Faces of one frame as plain arrays of somebody else's; none at all by default.
struct Faces {
  const Face* faces = nullptr;
  const Point* landmarks = nullptr;
  int count = 0;
  int landmarks_per_face = 0;
  bool searched = false;
  SearchRegion part;                   ///< as of FaceList
  const float* confidences = nullptr;  ///< of the landmarks; null = not known

  CUFACE_HD const Point* landmarks_of(int face) const {
    return landmarks + face * landmarks_per_face;
  }
  CUFACE_HD const float* confidences_of(int face) const {
    return confidences ? confidences + face * landmarks_per_face : nullptr;
  }
  /// Whether they say anything about a face, or that there is none.
  CUFACE_HD bool tell() const { return searched || part.is_part() || count > 0; }
  /// Whether a search has looked at all that lies around a box.
  CUFACE_HD bool looked_at(const Box& box, int height) const {
    return searched || (part.is_part() && is_in(part, box, height, 0));
  }
};

/// The tracker's input for one frame, without the picture.
struct TrackedFrame {
  Faces faces;
  Faces feedback;
  std::uint64_t number = 0;
  double elapsed = 0;  ///< seconds, known_elapsed()
  int width = 0, height = 0;
  int max_landmarks = kMaxTrackPoints;  ///< of a detection; more count as none
  /// The pictures of the frame before, where there was a track, and of this one, where there is a
  /// face or was a track.
  ImageView<const std::uint8_t> before, now;
  KnownFaces* memory = nullptr;        ///< null: faces are not known by their descriptors
  const orb::Pair* pattern = nullptr;  ///< orb::kPattern, for the processor; beside `memory`
};

CUFACE_HD inline double known_elapsed(double elapsed) { return elapsed > 0 ? elapsed : 1.0 / 30; }

struct Track {
  Face face;
  int confirmed = 0;       // searches that found it
  int missed = 0;          // searches in a row that did not find it
  double unconfirmed = 0;  // seconds since the last confirmation
  bool lost = false;       // decided on this frame
  bool replaced = false;   // lost, and another face is in its place
  Loss reason = Loss::kPoints;
  Finds finds;
  bool confident = false;  // it is known how sure the landmarks held here are
  bool weak = false;       // none of its points was sure when it was last known
  bool asks = false;       // for a search, since it became weak
  int views = 0, newest_view = 0;
  double view_time = 0;    // seconds since the newest was begun
  int landmarks = 0;       // held here, from the elements before (order detect, landmark, track)
  int followed = 0;        // held there instead: those fed back, carried to this frame
  int shape_points = 0;    // of the fed-back shape at the last confirmation
  Box confirmed_box;       // at the last confirmation
  Box motion_box;          // at the one that the velocity is next counted from,
  double motion_time = 0;  // which was so many seconds ago
  Point velocity;          // px/s
};

/// Tracks that are tentative have ids from here on: they are followed, but nobody is told of them
/// until enough windows have found them, when they get a real id.
inline constexpr std::uint64_t kFirstTentative = std::uint64_t{1} << 63;
CUFACE_HD inline bool is_tentative(const Track& t) { return t.face.id >= kFirstTentative; }

/// A lost track that may come back.
struct Ghost {
  std::uint64_t id = 0;
  Box box;         // where it was lost
  double age = 0;  // seconds
  Box confirmed_box;
  Point velocity;
  double unconfirmed = 0;       // seconds
  std::uint8_t appearance = 0;  // which of the state's appearances is its
  int views = 0;
};

struct State {
  std::uint64_t last_id = 0, last_tentative = kFirstTentative - 1;
  int count = 0;            // tracks
  int ghosts = 0;           // oldest first
  bool had_tracks = false;  // when this frame began
  bool had_faces = false;   // the same of tracks that are not tentative
  bool searched = false;    // there was a search before this frame
  /// Where tracks lie: the first `count` are the tracks by id (so that those in doubt come last),
  /// the others are free.
  std::uint8_t slot[kMaxTracks] = {};
  Track track[kMaxTracks];
  Ghost ghost[kMaxTracks];
  Point landmark[kMaxTracks][kMaxTrackPoints];
  float confidence[kMaxTracks][kMaxTrackPoints];          // of landmarks that came with a detection
  Point shape[kMaxTracks][kMaxTrackPoints];               // at the last confirmation
  std::int32_t appearance[kMaxTracks][kAppearanceCells];  // of ghosts, before they were lost

  CUFACE_HD Track& of(int i) { return track[slot[i]]; }
  CUFACE_HD const Track& of(int i) const { return track[slot[i]]; }
  /// Tracks without those in doubt: the faces of the frame.
  CUFACE_HD int faces() const {
    int n = count;
    while (n > 0 && is_tentative(of(n - 1))) --n;
    return n;
  }
};

inline void start_state(State& state, std::uint64_t first_id) {
  state.last_id = first_id - 1;
  for (int i = 0; i < kMaxTracks; ++i) state.slot[i] = static_cast<std::uint8_t>(i);
}

/// Forgets tracks and ghosts, not the ids.
CUFACE_HD inline void end_tracks(State& state) {
  state.count = state.ghosts = 0;
  state.searched = false;
}

/// By one lane.
CUFACE_HD inline void begin_frame(State& state, const TrackedFrame& frame,
                                  const TrackConfig& config) {
  int kept = 0;
  for (int i = 0; i < state.ghosts; ++i) {
    Ghost g = state.ghost[i];
    g.age += frame.elapsed;
    g.unconfirmed += frame.elapsed;
    if (g.age <= static_cast<double>(config.revive_time)) state.ghost[kept++] = g;
  }
  state.ghosts = kept;
  state.had_tracks = state.count > 0;
  state.had_faces = state.faces() > 0;
}

/// The face with landmarks that can be followed, or -1.
CUFACE_HD inline int find_fed(const Faces& list, std::uint64_t id) {
  if (list.landmarks_per_face < 2 || list.landmarks_per_face > kMaxTrackPoints) return -1;
  for (int i = 0; i < list.count; ++i) {
    if (list.faces[i].id == id) return i;
  }
  return -1;
}

/// The points a track is followed by; those of a grid in its box have no array.
struct Points {
  const Point* array;
  int count;
  enum From { kGrid, kLandmarks, kFeedback } from;
  const float* confidences;  ///< null = not known
};

CUFACE_HD inline Points choose_points(const State& state, int slot, const Faces& feedback) {
  const Track& t = state.track[slot];
  if (const int fed = find_fed(feedback, t.face.id); fed >= 0) {
    return {feedback.landmarks_of(fed), feedback.landmarks_per_face, Points::kFeedback,
            feedback.confidences_of(fed)};
  }
  if (t.landmarks >= 2) {
    return {state.landmark[slot], t.landmarks, Points::kLandmarks,
            t.confident ? state.confidence[slot] : nullptr};
  }
  return {nullptr, kGridPoints, Points::kGrid, nullptr};
}

CUFACE_HD inline Point point_at(const Points& points, const Box& box, int i) {
  return points.array ? points.array[i] : grid_point(box, i);
}

/// Ages a track by a frame, and compares the shape regressed in its box with the one at its last
/// confirmation.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void age_track(const Lanes& lanes, State& state, int slot, const TrackedFrame& frame,
                         const TrackConfig& config, similarity::SumScratch& scratch) {
  Track& t = state.track[slot];
  const int place = find_fed(frame.feedback, t.face.id);
  const Point* fed = place >= 0 ? frame.feedback.landmarks_of(place) : nullptr;
  const int n = frame.feedback.landmarks_per_face;
  const bool fresh = fed && t.face.age == 0;
  const bool compared = fed && !fresh && t.shape_points == n && config.max_shape_change > 0;
  lanes.each(fresh ? n : 0, [&](int i) { state.shape[slot][i] = fed[i]; });
  float change = 0;
  if (compared) {
    const auto count = static_cast<std::size_t>(n);
    change = shape_distance(lanes, std::span<const Point>(state.shape[slot], count),
                            std::span<const Point>(fed, count), scratch);
  }
  lanes.once([&] {
    if (fresh) t.shape_points = n;
    if (compared && !(change >= 0 && change <= config.max_shape_change * t.face.box.w)) {
      t.lost = true;
      t.reason = Loss::kShape;
    }
    t.followed = 0;
    ++t.face.age;
    t.unconfirmed += frame.elapsed;
    t.motion_time += frame.elapsed;
    t.view_time += frame.elapsed;
  });
}

/// An appearance that is no ghost's, while there are fewer than kMaxTracks.
CUFACE_HD inline std::uint8_t free_appearance(const State& state) {
  std::uint64_t used = 0;
  for (int g = 0; g < state.ghosts; ++g) used |= std::uint64_t{1} << state.ghost[g].appearance;
  std::uint8_t free = 0;
  while (used >> free & 1) ++free;
  return free;
}

/// One random stream per frame and face.
CUFACE_HD inline std::uint64_t seed_of(std::uint64_t frame, std::uint64_t id) {
  return frame * 0xd1342543de82ef95u ^ id * 0xaf251af3b0f025b5u;
}

/// Keypoints follow the face, with its turn, until a search finds them anew.
CUFACE_HD inline void carry_keypoints(Face& face, const Similarity& motion) {
  if (!face.has_keypoints) return;
  for (Point& p : face.keypoints) p = motion.apply(p);
  face.roll = roll_of_eyes(face.keypoints[0], face.keypoints[1]);
}

/// Carries a track to where its points went, or marks it lost where it was. `from` are those that
/// choose_points() chose, `source` tells more of them.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void carry_track(const Lanes& lanes, State& state, int slot, const TrackedFrame& frame,
                           const TrackConfig& config, const Points& source,
                           std::span<const Point> from, std::span<const Point> to,
                           std::span<const Point> back, std::span<std::uint8_t> good,
                           Motion& motion, MotionScratch& scratch) {
  Track& t = state.track[slot];
  judge_motion(lanes, t.face.box, from, to, back, good, source.confidences, config,
               seed_of(frame.number, t.face.id), frame.elapsed, frame.width, frame.height, motion,
               scratch);
  const bool fed = source.from == Points::kFeedback && t.landmarks == 0;
  const bool own = source.from == Points::kLandmarks;
  const int held = fed ? static_cast<int>(from.size()) : t.landmarks;
  lanes.each(motion.lost ? 0 : held, [&](int i) {
    // Landmarks that are weak or could not be followed keep their place in the face.
    const auto k = static_cast<std::size_t>(i);
    Point& p = state.landmark[slot][i];
    p = (own || fed) && good[k] ? to[k] : motion.similarity.apply(fed ? from[k] : p);
  });
  lanes.once([&] {
    if (motion.lost) {
      t.lost = true;
      t.reason = motion.reason;
      return;
    }
    if (source.confidences) {
      // Asked once: while they stay weak, or where a search has just been, another one would find
      // the same box.
      t.asks = motion.weak && (t.asks || (!t.weak && t.face.age > 1));
      t.weak = motion.weak;
    }
    t.followed = fed ? held : 0;
    t.face.box = motion.box;
    carry_keypoints(t.face, motion.similarity);
    t.face.confidence = motion.check / static_cast<float>(1 + t.missed);
    t.face.neighbors = -1;
    t.face.origin = Origin::kTracked;
  });
}

/// What all faces have: landmarks, 0 where they differ; where there are none, the landmarks fed
/// back that any face was followed by, at most `most`, else 0.
struct Common {
  int landmarks, followed;
};

CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD Common common_landmarks(const Lanes& lanes, const State& state, int most) {
  const int faces = state.faces();
  if (faces == 0) return {};
  const int n = state.of(0).landmarks;
  const bool differ = lanes.largest(faces, [&](int i) { return int{state.of(i).landmarks != n}; });
  if (n > 0 && !differ) return {n, 0};
  const int followed = lanes.largest(faces, [&](int i) { return state.of(i).followed; });
  return {0, followed <= most ? followed : 0};
}

/// Point p of those, NaN where the face of that place has none.
CUFACE_HD inline Point followed_point(const State& state, int face, int p) {
  if (p < state.of(face).followed) return state.landmark[state.slot[face]][p];
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  return {kNone, kNone};
}

}  // namespace cuface::track
