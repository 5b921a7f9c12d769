// Decides when cufacedetect searches, and merges its faces with those of a detector before it.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"
#include "kernels/detect/detect.h"
#include "kernels/faces/faces.h"

namespace cuface {

// A search happens on frame n with n mod interval = 0, after a search that found nothing, and on
// request. A frame that cannot be searched, or may not because frames are late, passes the search
// on to the next frame. While a tracker follows faces, the search of each interval may be spread
// over its frames, a band of the picture on each. When all bands have been put off, the whole
// picture is due. Tentative faces are searched for in a separate band, if bands can be searched and
// are not spread. If the tracker reports its faces, the active parts of the picture may be searched
// in between, and instead of the whole picture after a search that found nothing. Or only moving
// parts are searched: the larger they were, the longer the pause before the next search.

/// Frames from one search of active parts to the next: a new face must be found within so many.
inline constexpr std::uint64_t kActiveInterval = 10;
inline constexpr auto kUsualPause = static_cast<std::int32_t>(kActiveInterval);

/// Frames from a search of so many changed cells to the next of new motion: so many times their
/// share as `of_all`, and at least so many; 0 = none had changed, and it was no search.
CUFACE_HD inline std::int32_t share_pause(std::int32_t changed, std::int32_t cells,
                                          std::int32_t of_all, std::int32_t least) {
  if (changed == 0) return 0;
  const std::int32_t pause = (of_all * changed + cells - 1) / cells;
  return pause < least ? least : pause;
}

/// After a search of `what`. Most of all that has changed is people who are followed, so a newcomer
/// does not wait long for it.
CUFACE_HD inline std::int32_t motion_pause(const SearchRegion& what, std::int32_t changed,
                                           std::int32_t cells) {
  return what.only_new() ? share_pause(changed, cells, 6, 2) : share_pause(changed, cells, 3, 1);
}

/// The same of a network, all of whose searches are of the whole picture.
CUFACE_HD inline std::int32_t network_pause(const SearchRegion& what, std::int32_t changed,
                                            std::int32_t cells) {
  return share_pause(changed, cells, what.only_new() ? 8 : 0, 3);
}
/// Frames from each search of a network to the next of all that has changed.
inline constexpr std::int32_t kNetworkRest = 15;

/// The searches that are due on a frame by its number.
struct PeriodStep {
  bool search = false;  ///< a search of the whole picture
  SearchRegion band;    ///< where it is spread; count 0 = none
  bool active = false;  ///< where active parts are searched: one of these
};

/// The part that counts, from restart(). `interval` >= 1.
class SearchPeriod {
 public:
  void restart() { frame_ = 0; }
  PeriodStep next(std::uint64_t interval) {
    const std::uint64_t phase = frame_++ % interval;
    const std::uint64_t bands = interval < kMostBands ? interval : std::uint64_t{kMostBands};
    const std::uint64_t index = phase * bands / interval;
    PeriodStep step;
    step.search = phase == 0;
    step.active = phase % kActiveInterval == 0;
    if (bands > 1 && (phase == 0 || index != (phase - 1) * bands / interval))
      step.band = {static_cast<std::int32_t>(index), static_cast<std::int32_t>(bands)};
    return step;
  }

 private:
  std::uint64_t frame_ = 0;
};

/// The input of a SearchSchedule for a frame.
struct SearchRequest {
  bool asked = false;      ///< somebody asks for a search of the whole picture
  bool bands = false;      ///< the tracker may ask for a band
  SearchRegion tentative;  ///< for which it asks, because of faces in doubt; count 0 = none
  PeriodStep step;         ///< without a band where searches are not spread
  bool searchable = true;  ///< false for a gap, and while frames are late
  bool late = false;       ///< it could be searched, were frames not late
  bool follows = false;    ///< the tracker behind follows faces
  /// Active parts are to be searched, and the tracker behind has said which faces it follows, be it
  /// none; then searches are not spread.
  bool active_parts = false;
  /// Only moving and requested parts are searched, whatever the period says; then searches are not
  /// spread.
  bool motion = false;
  bool soon = false;  ///< with `motion`: all that has changed, at once

  CUFACE_HD bool spread() const { return step.band.is_part() && follows; }
  /// The part of this frame that the tracker wants searched; count 0 = nothing.
  CUFACE_HD void tracker_asks(const SearchRegion& wanted) {
    if (bands && wanted.is_part())
      tentative = wanted;
    else if (motion)
      soon = soon || wanted;
    else
      asked = asked || wanted;
  }
};

/// The part that depends on what searches find: lives where they run.
struct SearchSchedule {
  enum : std::int32_t { kNothing, kAgain, kWhole };
  std::int32_t wanted = kNothing;  ///< kAgain: after a search that found nothing
  std::int32_t active_wanted = 0;  ///< a search of active parts is due
  std::int32_t put_off = 0;        ///< bands by which a spread search is behind the frames' numbers
  std::int32_t pause = 0;          ///< frames before what moves is searched, at least
  std::int32_t rest = 0;           ///< the same of what moves where somebody is followed

  /// The part of this frame to search; count 0 = nothing.
  CUFACE_HD SearchRegion next(const SearchRequest& ask) {
    const bool turn = ask.step.search && !ask.motion && !ask.spread();
    if (ask.asked || turn) wanted = kWhole;
    if (pause > 0) --pause;
    if (rest > 0) --rest;
    if (ask.soon) rest = 0;
    if (ask.motion) return next_moved(ask);
    if (!ask.active_parts)
      active_wanted = 0;
    else if (ask.step.active)
      active_wanted = 1;
    if (!ask.searchable) {
      if (ask.spread() && put_off < ask.step.band.count) ++put_off;
      return {};
    }
    if (ask.spread() && put_off >= ask.step.band.count) wanted = kWhole;
    if (ask.active_parts && wanted != kWhole)
      return wanted || active_wanted ? kActiveParts : SearchRegion{};
    if (wanted) {
      put_off = 0;
      return kWholePicture;
    }
    if (!ask.spread()) return ask.tentative;
    const std::int32_t count = ask.step.band.count;
    return {(ask.step.band.index + count - put_off) % count, count};
  }
  /// After next(): whether a search was skipped on this frame because frames are late.
  CUFACE_HD bool skipped(const SearchRequest& ask) const {
    const bool due = ask.motion ? wanted == kWhole : wanted || active_wanted || ask.spread();
    return ask.late && (due || ask.tentative);
  }
  /// Call it after a search of `what`, which next() returned; not for kChangedParts or kNewParts if
  /// nothing has changed. A band may well be without a face. `next`: motion_pause() of these.
  CUFACE_HD void searched(const SearchRegion& what, bool found_any, std::int32_t next = kUsualPause,
                          std::int32_t next_rest = kUsualPause) {
    if (what.count > 1) return;
    pause = next;
    if (what.only_new()) return;
    wanted = found_any ? kNothing : kAgain;
    active_wanted = 0;
    rest = next_rest;
  }

 private:
  CUFACE_HD SearchRegion next_moved(const SearchRequest& ask) const {
    if (!ask.searchable) return {};
    if (wanted == kWhole) return kWholePicture;
    if (ask.tentative) return ask.tentative;
    return rest == 0 ? kChangedParts : pause == 0 ? kNewParts : SearchRegion{};
  }
};

/// Whether to count a search: one that is spread counts where it begins.
CUFACE_HD inline bool begins_search(const SearchRequest& ask, const SearchRegion& what) {
  return what && (what.index == 0 || !ask.spread());
}

/// Two boxes that overlap by more than half (intersection over union) are one face.
CUFACE_HD inline bool is_same_face(const Box& a, const Box& b) {
  return intersection_over_union(a, b) > 0.5f;
}

/// Adds a face to `into[0..count)`, which has room for `capacity` and of which the first `before`
/// are those of a detector before. Where it is the same as one of these the more confident stays,
/// in the place of the earlier. Returns the new count.
CUFACE_HD inline int merge_face(const Face& found, Face* into, int before, int count,
                                int capacity) {
  int same = 0;
  while (same < before && !is_same_face(found.box, into[same].box)) ++same;
  if (same < before) {
    if (found.confidence > into[same].confidence) into[same] = found;
  } else if (count < capacity) {
    into[count++] = found;
  }
  return count;
}

/// Adds `found[0..n)` to the faces of a detector before, `into[0..count)`. Returns the new count.
CUFACE_HD inline int merge_faces(const Face* found, int n, Face* into, int count, int capacity) {
  const int before = count;
  for (int i = 0; i < n; ++i) count = merge_face(found[i], into, before, count, capacity);
  return count;
}

/// The detections of a search as faces of a frame.
FaceList faces_from_detections(const DetectResult& found, const SearchRegion& searched,
                               const std::string& cascade, int width, int height);

/// The same for lists, without a limit. False, with some of them, once `stop` is raised.
bool merge_faces(const FaceList& found, FaceList& into, const StopFlag* stop = nullptr);

}  // namespace cuface
