// What all face elements have beside the base: they warn where faces no longer fit the picture, and
// write faces as standard metas too.
#pragma once

#include <vector>

#include "gst/base/element.h"
#include "gst/faces/firstseen.h"
#include "gst/meta/facemeta.h"

namespace cuface::gst {

enum class StandardMetas { kAuto, kAlways, kNever };

/// The settings of every face element begin with these.
struct FaceSettings {
  StandardMetas standard_metas = StandardMetas::kAuto;
};

class FaceElement : public Element {
 public:
  using Element::Element;
  Status process(Frame& frame) final;
  void reset(Reset why) final;

 protected:
  /// As Element's.
  virtual Status process_faces(Frame& frame) = 0;
  virtual void reset_faces(Reset) {}
  virtual FaceSettings face_settings() const = 0;

  /// In process_faces(): the newest faces of the elements before, in pixels of the frame.
  const FoundFaces& before() const { return before_; }
  /// The same; where none of them delivered any, those of others. Null when nobody found faces, or
  /// when ours no longer fit the picture.
  FaceResult known_faces(const Frame& frame) const;
  /// The faces of this element for this frame, in pixels of it; once, and last of all. Adds them to
  /// the frame meta, and as standard metas where they are wanted.
  Status deliver_faces(Frame& frame, FaceResult faces);

 private:
  bool wants_standard_metas();

  FoundFaces before_;
  bool warned_interlaced_ = false, warned_positions_ = false, told_no_standard_metas_ = false;
  FirstSeen first_seen_;
};

/// One with settings S, which are copied once a buffer.
template <typename S>
class FaceElementWith : public FaceElement {
 public:
  using FaceElement::FaceElement;
  void* settings_address() override { return &settings_; }

 protected:
  S copy_settings() const {
    SettingsLock lock(filter());
    return settings_;
  }
  FaceSettings face_settings() const override {
    SettingsLock lock(filter());
    return settings_;
  }
  S settings_;  ///< under SettingsLock
};

GType standard_metas_type();

/// The property that all face elements have.
template <typename S>
Setting standard_metas_setting() {
  return choice("standard-metas", "Standard metas",
                "Whether faces are also written as GStreamer's own metas. Set always where other "
                "elements read them behind a GPU.",
                CUFACE_FIELD(S, standard_metas), standard_metas_type());
}

}  // namespace cuface::gst
