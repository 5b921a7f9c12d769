// The element messages of culktrack: which faces come, and which go.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <map>

#include "gst/base/readyqueue.h"
#include "gst/base/structures.h"
#include "gst/meta/facemeta.h"

namespace cuface::gst {

/// Posts face-appeared with the first frame of an id, and face-lost with the first frame without
/// it. The latter has the face and the time of its last frame, and how long the face was there.
/// Where a GPU has the faces nothing waits for them before four frames have passed. The streaming
/// thread's.
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
