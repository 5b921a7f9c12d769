// What one element found on one frame: in host memory, or on a GPU until somebody reads it.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>

#include "kernels/common/status.h"
#include "kernels/faces/faces.h"

namespace cuface::gst {

class DeviceFacesResult;

/// Faces that a GPU may still be working on. Immutable to whoever reads them; thread-safe.
class PendingFaces {
 public:
  virtual ~PendingFaces() = default;
  /// Whether read() returns at once.
  virtual bool is_ready() const = 0;
  /// Waits where it has to. The faces, never null, or what the GPU said: nobody knows then whether
  /// there are any. An error is not kept, so that the next call asks the GPU again.
  virtual Result<FaceListRef> read() const = 0;
  /// These, where they are in device memory (gst/faces/cuda/faceslots.h), else null.
  virtual const DeviceFacesResult* on_device() const { return nullptr; }
  /// The memory that cannot be used again before they are gone, on the host or on a GPU.
  virtual std::size_t bytes() const { return 0; }
};

using PendingFacesRef = std::shared_ptr<const PendingFaces>;

/// A copy of `faces` in pixels of width x height.
FaceListRef scale_faces(const FaceListRef& faces, int width, int height);

/// One result, seen from a picture of width x height. Of `list` and `pending` at most one is set;
/// none means that there are no faces. As cheap as a pointer or two; copies share the faces.
struct FaceResult {
  FaceResult() = default;
  template <std::convertible_to<FaceListRef> T>
  FaceResult(T faces)  // NOLINT(google-explicit-constructor)
      : list(std::move(faces)) {
    if (!list) return;
    width = list->width;
    height = list->height;
  }
  FaceResult(PendingFacesRef faces, int w, int h)
      : width(w), height(h), pending(std::move(faces)) {}

  explicit operator bool() const { return list || pending; }
  bool is_ready() const { return !pending || pending->is_ready(); }
  /// The same faces in pixels of another size; read() does the arithmetic.
  FaceResult scaled(int w, int h) const {
    FaceResult result = *this;
    result.width = w;
    result.height = h;
    return result;
  }
  /// The faces in pixels of width x height, null when there are none; an error as of
  /// PendingFaces::read(). Waits for a GPU where it is not ready.
  Result<FaceListRef> read() const {
    Result<FaceListRef> faces = pending ? pending->read() : Result<FaceListRef>(list);
    if (faces.ok() && faces.value()) return scale_faces(faces.value(), width, height);
    return faces;
  }

  int width = 0, height = 0;
  FaceListRef list;
  PendingFacesRef pending;
};

/// Work on a frame's memory that may outlast the push: the face meta waits for it before it goes,
/// and so before a pool gets the frame back.
class FrameUse {
 public:
  virtual ~FrameUse() = default;
  /// Returns when it is over. From any thread, any number of times.
  virtual void wait() const = 0;
};

}  // namespace cuface::gst
