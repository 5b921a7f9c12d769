// When each id of an element was seen first.
#pragma once

#include <gst/gst.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "gst/regions/analytics.h"

namespace cuface::gst {

/// The times of faces, or of what else is followed, by their ids. One that is away for some frames
/// keeps its time as long as culktrack can bring it back: of the ids that are away, as many as
/// culktrack remembers lost faces are kept, and those seen longest ago go. One thread at a time.
class FirstSeen {
 public:
  /// The next frame: all that has an `id` on it. The id 0 is nobody's.
  template <typename All>
  void update(const All& all, GstClockTime now) {
    ++frame_;
    std::size_t here = 0;
    for (const auto& one : all) here += see(one.id, now);
    keep_those_here(here);
  }
  /// The timestamp of the first frame with this id that had one; GST_CLOCK_TIME_NONE for an id
  /// that is not known.
  GstClockTime of(std::uint64_t id) const;
  /// The ids of the frame before the last that the last is without, in order, with the times that
  /// they were seen first and last.
  std::vector<LostRegion> lost() const;
  /// No id means what it meant.
  void clear() { seen_.clear(); }
  std::size_t size() const { return seen_.size(); }

 private:
  struct Seen {
    GstClockTime first, last;
    std::uint64_t last_frame;
  };
  /// Whether the id is one more on this frame.
  bool see(std::uint64_t id, GstClockTime now);
  void keep_those_here(std::size_t here);

  std::unordered_map<std::uint64_t, Seen> seen_;
  std::uint64_t frame_ = 0;
};

}  // namespace cuface::gst
