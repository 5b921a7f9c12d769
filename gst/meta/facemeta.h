// The C++ side of the face meta, for our own elements (not installed). The library exports none of
// these functions: the plugin's own (gst/meta/client.cc) go through the table of
// gst/meta/internal.h.
//
// Faces are kept in pixels of the frame they were found on. The face meta itself has no tags, so it
// passes every element that copies metas, also those that move pixels. Whether it still fits the
// picture is told by a twin, the witness: a meta with the tags of size and orientation, which such
// elements either transform (scaling) or drop (crop, flip, borders). GStreamer's elements on CUDA
// memory always drop it; the face meta finds out which one copies the frame, and puts the witness
// back where no pixel has moved. docs/design/metadata.md.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gst/meta/gstcufacemeta.h"
#include "gst/meta/results.h"
#include "kernels/faces/faces.h"

namespace cuface::gst {

/// The way back from cufacelandmark to culktrack: landmarks regressed in the boxes of this frame.
/// Touched by its owner thread alone.
class FeedbackCell {
 public:
  explicit FeedbackCell(GThread* owner) : owner_(owner) {}
  /// The first result posted on the owner's thread stays. False when this is another thread.
  bool post(FaceResult faces) {
    if (g_thread_self() != owner_) return false;
    if (!faces_) faces_ = std::move(faces);
    return true;
  }
  FaceResult take() { return std::exchange(faces_, {}); }

 private:
  GThread* owner_;
  FaceResult faces_;
};

/// An element, not kept alive. Made once for each element, shared by all its frames.
using ElementRef = std::shared_ptr<GWeakRef>;
ElementRef make_element_ref(GstElement* element);

/// What the face meta holds. Copies of the buffer share what is there and see nothing added later.
struct FaceRecord {
  std::vector<FaceResult> results;  ///< one per element, the newest last
  /// The plugin's Chain (gst/base/chain.h), opaque here: the pointer knows how to destroy it.
  std::shared_ptr<void> chain;
  std::uint64_t generation = 0;  ///< the chain's number for this frame
  /// Set once a reader has warned that positions are lost; all frames of a chain share it. Null
  /// where nobody is to be warned.
  std::shared_ptr<std::atomic<bool>> geometry_warned;
  std::shared_ptr<FeedbackCell> feedback;
  /// The last of our elements in an unbroken line of our elements from the chain's head, or null:
  /// only for comparison. While the line lasts nobody else can have touched a pixel.
  const void* untouched_since = nullptr;
  /// What the elements in the frame's thread have kept a live source waiting: of the time since the
  /// frame before so many ns may be missing for it (gst/base/slowness.h).
  std::uint64_t behind = 0;
  /// What still reads or writes the frame's memory.
  std::vector<std::shared_ptr<const FrameUse>> uses;
  /// The last of our elements that the frame has passed. The face meta looks from there for the
  /// element that copies the frame.
  ElementRef last_passed;
  /// The element behind which the newest result no longer fits the picture, in words; null where
  /// the result fits or nobody knows.
  std::shared_ptr<const std::string> moved_by;
};

/// The frame an element sees: its size, and where in the mapped memory it starts.
struct FrameGeometry {
  int width = 0, height = 0;
  int crop_x = 0, crop_y = 0;  ///< from GstVideoCropMeta
  friend bool operator==(const FrameGeometry&, const FrameGeometry&) = default;
};

enum class Positions {
  kNone,     ///< no face meta, or one without any result
  kKnown,    ///< the faces fit the picture
  kUnknown,  ///< somebody moved pixels and did not say where to
};

struct FacesFound {
  Positions positions = Positions::kNone;
  FaceResult faces;      ///< kKnown only: the newest result, in pixels of the size asked for
  bool cropped = false;  ///< a crop rectangle was set since: the frame starts elsewhere
  std::shared_ptr<const std::string> moved_by{};  ///< kUnknown only; see FaceRecord
};

/// The same, read.
struct FacesRead {
  Positions positions = Positions::kNone;
  FaceListRef faces;
  Status status;  ///< an error of the GPU; `faces` is null then
};

/// The buffer's crop rectangle if it has one, else the given size.
FrameGeometry frame_geometry(GstBuffer* buffer, int width, int height);

/// The buffer's record, or null. Valid as long as the buffer has its metas.
FaceRecord* get_face_record(GstBuffer* buffer);
/// The same, added when missing. Needs a writable buffer.
FaceRecord& ensure_face_record(GstBuffer* buffer);

/// Adds a result and makes the witness say that it fits the frame as it is now. `faces` must be in
/// pixels of that frame. Needs a writable buffer.
void append_faces(GstBuffer* buffer, FaceResult faces);

/// The newest result, scaled to width x height. Says nothing on its own; see warn_positions_lost.
/// Does not wait.
FacesFound find_faces(GstBuffer* buffer, int width, int height);
/// The same, and waits for a GPU that still works on it.
FacesRead read_faces(GstBuffer* buffer, int width, int height);

/// The snapshot of the public interface, for our own elements that publish. Whoever first looks
/// into it waits for a GPU that still works on it, and sees no faces (an error is logged) while the
/// GPU cannot be read.
GstCufaceFaces* make_faces_snapshot(FaceResult faces);

}  // namespace cuface::gst
