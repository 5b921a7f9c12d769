// The meta that our elements of any kind write, and that nobody else knows: GstCufaceFrameMeta (not
// installed). The first of them adds it. Applications see its faces through GstCufaceMeta. The
// library exports none of these functions: the plugin's own (gst/meta/client.cc) go through the
// table of gst/meta/internal.h.
//
// Results with places are in pixels of the frame they were found on. The frame meta itself has no
// tags, so it passes every element that copies metas, also those that move pixels. A second meta,
// the witness, says whether places still fit the picture. It has the tags of size and orientation.
// Elements that move pixels either transform it (scaling; from GStreamer 1.28 on crop and borders)
// or drop it (flip). GStreamer's elements on CUDA memory always drop it; the frame meta finds out
// which one copies the frame, and puts the witness back where no pixel has moved.
// docs/design/metadata.md.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gst/meta/results.h"

namespace cuface::gst {

/// An element, not kept alive. Made once for each element, shared by all its frames.
using ElementRef = std::shared_ptr<GWeakRef>;
ElementRef make_element_ref(GstElement* element);

/// Work on a frame's memory that may outlast the push: the frame meta waits for it before it goes,
/// and so before a pool gets the frame back.
class FrameUse {
 public:
  virtual ~FrameUse() = default;
  /// Returns when it is over. From any thread, any number of times.
  virtual void wait() const = 0;
};

/// The content of the frame meta. Copies of the buffer share this content, and do not see results
/// added later.
struct FrameRecord {
  struct Entry {
    GType kind;
    AnyResult result;
    bool has_places;
    bool fits = true;  ///< what the witness says is about this one too
    PictureMap map{};  ///< from the picture of `result` to the one that the witness begins with
  };
  std::vector<Entry> results;  ///< one for each element and kind, the newest last
  /// The plugin's Chain (gst/base/chain.h), opaque here: the pointer knows how to destroy it.
  std::shared_ptr<void> chain;
  std::uint64_t generation = 0;  ///< the chain's number for this frame
  /// Set once a reader has warned that positions are lost; all frames of a chain share it. Null
  /// where nobody is to be warned.
  std::shared_ptr<std::atomic<bool>> geometry_warned;
  /// The last of our elements in an unbroken line of them from the chain's first on, or null:
  /// only for comparison. While the line lasts nobody else can have touched a pixel.
  const void* untouched_since = nullptr;
  FrameGeometry untouched;  ///< as that element saw it
  /// What the elements in the frame's thread have kept a live source waiting: of the time since the
  /// frame before so many ns may be missing for it (gst/base/slowness.h).
  std::uint64_t behind = 0;
  /// Work that still reads or writes the frame's memory.
  std::vector<std::shared_ptr<const FrameUse>> uses;
  /// The last of our elements that the frame has passed. The frame meta looks from there for the
  /// element that copies the frame.
  ElementRef last_passed;
  /// The element behind which places no longer fit the picture, in words; null where they fit or
  /// nobody knows.
  std::shared_ptr<const std::string> moved_by;

  /// The newest result of this kind, or null.
  const Entry* newest(GType kind) const;
};

enum class Positions {
  kNone,     ///< no frame meta, or one without a result of the kind
  kKnown,    ///< the places fit the picture, or the kind has none
  kUnknown,  ///< somebody moved pixels and did not say where to
};

/// Where the newest result of a kind is in the picture as it is now.
struct Placement {
  Positions positions = Positions::kNone;
  AnyResult result;  ///< kKnown only; in pixels of whatever size
  /// Set where the picture shows another part since; from a picture as large as the result's.
  std::optional<PictureMap> map{};
  std::shared_ptr<const std::string> moved_by{};  ///< kUnknown only; see FrameRecord
};

/// The buffer's crop rectangle if it has one, else the given size.
FrameGeometry frame_geometry(GstBuffer* buffer, int width, int height);

/// The buffer's record, or null. Valid as long as the buffer has its metas.
FrameRecord* get_frame_record(GstBuffer* buffer);
/// The same, added when missing. Needs a writable buffer.
FrameRecord& ensure_frame_record(GstBuffer* buffer);

/// Adds a result, and the meta that others see it by, where the kind has one. If it has places the
/// witness says from now on that they fit the frame as it is; what was found in a picture of which
/// nobody knows where it is now is lost. `result` must be in pixels of that frame. Needs a writable
/// buffer.
void append_any(GstBuffer* buffer, GType kind, AnyResult result, bool has_places);

/// The buffer has width x height pixels without its crop rectangle; 0 if that is not known. Does
/// not wait.
Placement place_any(GstBuffer* buffer, GType kind, int width, int height);

template <typename T>
void append_result(GstBuffer* buffer, FrameResult<T> result) {
  append_any(buffer, ResultKind<T>::type(), std::move(result), kHasPlaces<T>);
}

/// The newest result of a kind.
template <typename T>
struct FoundResult {
  Positions positions = Positions::kNone;
  FrameResult<T> result;                          ///< kKnown only: in pixels of the size asked for
  std::shared_ptr<const std::string> moved_by{};  ///< kUnknown only; see FrameRecord
};

/// Scaled to width x height, or with 0 to whatever size the picture has.
template <typename T>
FoundResult<T> find_result(GstBuffer* buffer, int width, int height) {
  Placement place = place_any(buffer, ResultKind<T>::type(), width, height);
  FoundResult<T> found{place.positions, FrameResult<T>(std::move(place.result)),
                       std::move(place.moved_by)};
  if constexpr (kHasPlaces<T>)
    if (const auto& map = place.map) {
      // Nothing is pending, so this cannot fail.
      const auto whole = found.result.scaled(map->from_width, map->from_height).read();
      found.result =
          FrameResult<T>(ResultKind<T>::cropped(*whole.value(), *map), map->width, map->height);
    }
  if (found.result && width > 0) found.result = found.result.scaled(width, height);
  return found;
}

}  // namespace cuface::gst
