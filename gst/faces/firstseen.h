// When each face of an element was seen first.
#pragma once

#include <gst/gst.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "kernels/faces/faces.h"

namespace cuface::gst {

/// The times of faces by their ids. A face that is away for some frames keeps its time as long as
/// culktrack can bring it back: of the ids that are away, as many as culktrack remembers lost faces
/// are kept, and those seen longest ago go. One thread at a time.
class FirstSeen {
 public:
  /// The faces of the next frame. The id 0 is nobody's.
  void update(const FaceList& faces, GstClockTime now);
  /// The timestamp of the first frame with this id that had one; GST_CLOCK_TIME_NONE for an id
  /// that is not known.
  GstClockTime of(std::uint64_t id) const;
  /// No id means what it meant.
  void clear() { seen_.clear(); }
  std::size_t size() const { return seen_.size(); }

 private:
  struct Seen {
    GstClockTime first;
    std::uint64_t last_frame;
  };
  void forget(std::size_t surplus);

  std::unordered_map<std::uint64_t, Seen> seen_;
  std::uint64_t frame_ = 0;
};

}  // namespace cuface::gst
