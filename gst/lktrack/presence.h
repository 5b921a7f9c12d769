// The element messages of culktrack: which faces come, and which go.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <map>

#include "gst/base/readyqueue.h"
#include "gst/base/structures.h"
#include "gst/meta/facemeta.h"

namespace cuface::gst {

/// Posts face-appeared with the first frame on which an id is, and face-lost once a frame is
/// without it: the face as it was on its last frame, the time of that frame, and how long it was
/// there. Where a GPU has the faces nothing waits for them before four frames have passed. The
/// streaming thread's.
class Presence {
 public:
  explicit Presence(GstElement* element) : element_(element) {}

  /// The faces of a frame, in pixels of it. An error where a GPU cannot be read.
  Status follow(FaceResult faces, const FrameTime& time);
  /// There are no more frames: reads what waits, and every face is lost.
  Status end();
  /// The same without a message.
  void forget();

 private:
  struct Waiting {
    FaceResult faces;
    FrameTime time;
    bool is_ready() const { return faces.is_ready(); }
  };
  struct Seen {
    FaceListRef faces;  ///< of the last frame with it
    std::size_t index;  ///< in these
    FrameTime time;     ///< of that frame
    GstClockTime since;
  };

  Status compare(const Waiting& ready);
  void post(const char* name, const Seen& seen, bool is_over) const;

  GstElement* const element_;
  ReadyQueue<Waiting> waiting_;
  std::map<std::uint64_t, Seen> here_;  ///< by id
};

}  // namespace cuface::gst
