// The result of one element for one frame, of any kind, in host memory, or on a GPU until it is
// read.
#pragma once

#include <glib-object.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "kernels/common/geometry.h"
#include "kernels/common/status.h"
#include "kernels/common/try.h"

namespace cuface::gst {

class DeviceResult;

/// The frame an element sees: its size, and where in the mapped memory it starts.
struct FrameGeometry {
  int width = 0, height = 0;
  int crop_x = 0, crop_y = 0;  ///< from GstVideoCropMeta
  friend bool operator==(const FrameGeometry&, const FrameGeometry&) = default;
};

/// Whether any of the box lies in a picture of this size.
inline bool is_visible(const Box& b, int width, int height) {
  return b.x < static_cast<float>(width) && b.y < static_cast<float>(height) && b.x + b.w > 0 &&
         b.y + b.h > 0;
}

/// Where the pixels of one picture are in another: scaled, then moved. Parts beyond the other
/// picture's borders are not visible there.
struct PictureMap {
  int from_width = 0, from_height = 0;
  int width = 0, height = 0;
  float sx = 1, sy = 1, dx = 0, dy = 0;  ///< an edge at x comes to x * sx + dx

  /// All of a picture, in one of another size.
  static PictureMap scaling(int from_width, int from_height, int width, int height);
  bool is_scaling() const;
  /// Whether any pixel has another place.
  bool moves() const { return !is_scaling() || width != from_width || height != from_height; }
  /// This, and then another one from the picture that this one leads to.
  PictureMap then(const PictureMap& next) const;

  Box box(const Box& b) const { return {b.x * sx + dx, b.y * sy + dy, b.w * sx, b.h * sy}; }
  Point point(const Point& p) const {
    const Point scaled = sx == 1 && sy == 1 ? p : scaled_point(p, sx, sy);
    return {scaled.x + dx, scaled.y + dy};
  }
  bool shows(const Box& b) const { return is_visible(b, width, height); }
};

/// A result that a GPU may still be working on. Immutable to whoever reads it; thread-safe.
class PendingResult {
 public:
  virtual ~PendingResult() = default;
  /// Whether read() returns at once.
  virtual bool is_ready() const = 0;
  /// Waits where it has to. The value, never null and of the kind's type, or the GPU's error: then
  /// the result is unknown. An error is not kept, so that the next call asks the GPU again.
  virtual Result<std::shared_ptr<const void>> read() const = 0;
  /// This, where it is in device memory (gst/base/cuda/deviceresult.h), else null.
  virtual const DeviceResult* on_device() const { return nullptr; }
  /// The memory that cannot be used again before it is gone, on the host or on a GPU.
  virtual std::size_t bytes() const { return 0; }
};

using PendingResultRef = std::shared_ptr<const PendingResult>;

/// One result, seen from a picture of width x height. At most one of `value` and `pending` is set;
/// none means that nothing was found. As cheap as a pointer or two; copies share the value.
struct AnyResult {
  int width = 0, height = 0;
  std::shared_ptr<const void> value;
  PendingResultRef pending;

  explicit operator bool() const { return value || pending; }
  bool is_ready() const { return !pending || pending->is_ready(); }
};

/// Says what kind of result a T is; every kind has its own.
///   static GType type();       names the kind; where there is a meta for it to be seen by others,
///                              the API type of that (view.h)
/// and only where a T has places in the picture:
///   static std::shared_ptr<const T> scaled(std::shared_ptr<const T>, int width, int height);
///                              the same in pixels of another size
///   static std::shared_ptr<const T> cropped(const T&, const PictureMap&);
///                              the same in a picture that shows a part of it, or more; the map is
///                              from the size that the T has
template <typename T>
struct ResultKind;

template <typename T>
inline constexpr bool kHasPlaces = requires {
  &ResultKind<T>::scaled;
};

/// A result of one kind.
template <typename T>
struct FrameResult : AnyResult {
  FrameResult() = default;
  FrameResult(std::shared_ptr<const T> found, int w, int h)
      : AnyResult{w, h, std::move(found), {}} {}
  FrameResult(PendingResultRef found, int w, int h) : AnyResult{w, h, {}, std::move(found)} {}
  explicit FrameResult(AnyResult any) : AnyResult(std::move(any)) {}
  /// For a type that knows its picture's size.
  template <typename U>
  requires std::convertible_to<U, std::shared_ptr<const T>> FrameResult(
      U found)  // NOLINT(google-explicit-constructor)
  {
    const std::shared_ptr<const T> list(std::move(found));
    if (list) *this = FrameResult(list, list->width, list->height);
  }

  /// The value, if it is in host memory, in pixels of the picture in which it was found.
  const T* host() const { return static_cast<const T*>(value.get()); }
  /// The same result in pixels of another size; read() does the arithmetic.
  FrameResult scaled(int w, int h) const {
    FrameResult result = *this;
    result.width = w;
    result.height = h;
    return result;
  }
  /// In pixels of width x height, null when nothing was found; an error as of
  /// PendingResult::read(). Waits for a GPU where it is not ready.
  Result<std::shared_ptr<const T>> read() const {
    CUFACE_TAKE(any, pending ? pending->read() : Result<std::shared_ptr<const void>>(value));
    auto found = std::static_pointer_cast<const T>(std::move(any));
    if constexpr (kHasPlaces<T>)
      if (found) return ResultKind<T>::scaled(std::move(found), width, height);
    return found;
  }
};

}  // namespace cuface::gst
