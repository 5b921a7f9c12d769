// Which detection belongs to which track: overlap, votes, and how far a lost face may have come.
// Small functions over plain values, without state or allocation: the CPU and CUDA run the same
// code, which uses nothing of libm but sqrt.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/common/geometry.h"
#include "kernels/common/host_device.h"
#include "kernels/common/lanes.h"
#include "kernels/faces/faces.h"
#include "kernels/track/track.h"

namespace cuface::track {

CUFACE_HD inline float distance2(Point a, Point b) {
  const float dx = a.x - b.x, dy = a.y - b.y;
  return dx * dx + dy * dy;
}

/// Fraction of the box's area inside a width x height frame.
CUFACE_HD inline float visible_fraction(const Box& box, int width, int height) {
  const Box frame{0, 0, static_cast<float>(width), static_cast<float>(height)};
  const float all = area(box);
  return all > 0 ? intersection_area(box, frame) / all : 0.0f;
}

/// Windows of which detection_confidence() makes this: they add up, confidences do not. 0 to 255;
/// what is no confidence has none.
inline constexpr int kMostVotes = 255;
CUFACE_HD inline int votes_of(float confidence) {
  if (!(confidence > 0)) return 0;
  if (!(confidence < 1)) return kMostVotes;
  const float windows = kHalfConfident * confidence / (1.0f - confidence) + 0.5f;
  return windows < kMostVotes ? static_cast<int>(windows) : kMostVotes;
}

/// Those of a find, and of more that have been counted before. None counts for less than our
/// detector reports by default, so that a doubt ends also where another tells no confidence.
inline constexpr int kLeastVotes = 3;
CUFACE_HD inline int add_votes(int before, float confidence) {
  const int windows = votes_of(confidence);
  const int sum = before + (windows < kLeastVotes ? kLeastVotes : windows);
  return sum < kMostVotes ? sum : kMostVotes;
}

/// The evidence of the searches that found a face. Scores of a network do not add up as windows of
/// a cascade do: they are compared, and count as one find each.
struct Finds {
  std::uint8_t votes = 0;  ///< windows, added up: add_votes()
  std::uint8_t scores = 0;
  float best_score = 0;

  CUFACE_HD void add(const Face& found) {
    if (found.neighbors >= 0) {
      votes = static_cast<std::uint8_t>(add_votes(votes, found.confidence));
      return;
    }
    if (scores < kMostVotes) ++scores;
    if (found.confidence > best_score) best_score = found.confidence;
  }
  /// Whether they end every doubt.
  CUFACE_HD bool are_enough(const TrackConfig& config) const {
    return votes >= votes_of(config.doubt_below) ||
           (scores > 0 && (best_score >= config.doubt_below || scores >= config.min_confirmed));
  }
};

/// What the lanes of one association share.
struct AssociateScratch {
  float overlap[kMaxTracks];  // of each track with its best free detection
  int best[kMaxTracks];       // that detection, or -1
  bool taken[kMaxTracks];     // detections
  int detection;              // given away last, or -1
};

/// The best free detection for a track, or -1.
CUFACE_HD inline int best_detection(const Box& track, std::span<const Box> detections,
                                    const bool* taken, float min_overlap, float& best) {
  int found = -1;
  for (std::size_t d = 0; d < detections.size(); ++d) {
    if (taken[d]) continue;
    const float o = intersection_over_union(track, detections[d]);
    if (o >= min_overlap && (found < 0 || o > best)) {
      best = o;
      found = static_cast<int>(d);
    }
  }
  return found;
}

/// Greedy one-to-one matching by overlap, largest first; ties go to the smaller track, then the
/// smaller detection. match[track] := detection, or -1. At most kMaxTracks boxes on either side.
/// `match` and `scratch` are visible to all lanes.
CUFACE_HD_GENERIC
template <typename Lanes>
CUFACE_HD void associate(const Lanes& lanes, std::span<const Box> tracks,
                         std::span<const Box> detections, float min_overlap, std::span<int> match,
                         AssociateScratch& scratch) {
  const int n = static_cast<int>(tracks.size());
  const auto find_best = [&](int t) {
    scratch.best[t] = best_detection(tracks[static_cast<std::size_t>(t)], detections, scratch.taken,
                                     min_overlap, scratch.overlap[t]);
  };
  lanes.each(static_cast<int>(detections.size()), [&](int d) { scratch.taken[d] = false; });
  lanes.each(n, [&](int t) {
    match[static_cast<std::size_t>(t)] = -1;
    find_best(t);
  });
  for (;;) {
    lanes.once([&] {
      int top = -1;
      for (int t = 0; t < n; ++t) {
        if (scratch.best[t] >= 0 && (top < 0 || scratch.overlap[t] > scratch.overlap[top])) top = t;
      }
      scratch.detection = top < 0 ? -1 : scratch.best[top];
      if (top < 0) return;
      match[static_cast<std::size_t>(top)] = scratch.detection;
      scratch.taken[scratch.detection] = true;
      scratch.best[top] = -1;
    });
    if (scratch.detection < 0) return;
    lanes.each(n, [&](int t) {
      if (scratch.best[t] == scratch.detection) find_best(t);
    });
  }
}

/// The same in turn, for a few boxes.
inline void associate(std::span<const Box> tracks, std::span<const Box> detections,
                      float min_overlap, std::span<int> match) {
  AssociateScratch scratch;
  associate(SerialLanes{}, tracks, detections, min_overlap, match, scratch);
}

/// Are these two places of one face near enough for the same id (revive_distance)?
/// Negative = no, else the squared distance of the centres.
CUFACE_HD inline float revive_distance2(const Box& before, const Box& now, float revive_distance) {
  const float larger = std::max(before.w, now.w), smaller = std::min(before.w, now.w);
  const float d2 = distance2({before.x + before.w / 2, before.y + before.h / 2},
                             {now.x + now.w / 2, now.y + now.h / 2});
  const float reach = revive_distance * larger;
  return smaller * 2 >= larger && d2 <= reach * reach ? d2 : -1.0f;
}

/// How fast a face moves, px/s, by two of its confirmations: what covers a face drags its points
/// along before the track is lost. Confirmations closer in time would measure the detector's noise.
inline constexpr double kMotionTime = 0.2;
CUFACE_HD inline Point velocity_of(const Box& before, const Box& now, double seconds) {
  const double dx = now.x + now.w / 2.0 - (before.x + before.w / 2.0);
  const double dy = now.y + now.h / 2.0 - (before.y + before.h / 2.0);
  return {static_cast<float>(dx / seconds), static_cast<float>(dy / seconds)};
}

CUFACE_HD inline Box moved_on(const Box& box, Point velocity, double seconds) {
  return {static_cast<float>(box.x + velocity.x * seconds),
          static_cast<float>(box.y + velocity.y * seconds), box.w, box.h};
}

}  // namespace cuface::track
