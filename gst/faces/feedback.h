// The way back from cufacelandmark to culktrack.
#pragma once

#include <glib-object.h>

#include <memory>
#include <utility>

#include "gst/meta/facemeta.h"

namespace cuface::gst {

/// Travels with a frame: the landmarks regressed in the boxes that culktrack gave for it. Touched
/// by its owner thread alone.
class FeedbackCell {
 public:
  explicit FeedbackCell(GThread* owner) : owner_(owner) {}
  /// The first result posted on the owner's thread stays. False when this is another thread.
  bool post(FaceResult faces) const {
    if (g_thread_self() != owner_) return false;
    if (!faces_) faces_ = std::move(faces);
    return true;
  }
  FaceResult take() const { return std::exchange(faces_, {}); }

 private:
  GThread* owner_;
  mutable FaceResult faces_;
};

/// It has a place, that of the picture it was sent off with: behind an element that moves pixels,
/// and behind a result in another picture, there is none to be found. So landmarks in pixels of a
/// picture that the tracker has not seen never reach it.
template <>
struct ResultKind<FeedbackCell> {
  static GType type() {
    // Once in a process, and tests know it too.
    static const GType known = g_type_from_name("GstCufaceFeedback");
    static const GType type = known ? known : g_pointer_type_register_static("GstCufaceFeedback");
    return type;
  }
  static std::shared_ptr<const FeedbackCell> scaled(std::shared_ptr<const FeedbackCell> cell, int,
                                                    int) {
    return cell;
  }
  static std::shared_ptr<const FeedbackCell> cropped(const FeedbackCell&, const PictureMap&) {
    return nullptr;
  }
};

}  // namespace cuface::gst
