// All face elements add this to the base: they warn if faces no longer fit the picture, and also
// write faces as standard metas.
#pragma once

#include <string>
#include <vector>

#include "gst/base/element.h"
#include "gst/meta/facemeta.h"
#include "gst/regions/regions.h"

namespace cuface::gst {

/// The settings of every face element begin with these.
struct FaceSettings {
  StandardMetas standard_metas = StandardMetas::kAuto;
  /// Whose boxes are faces where no element of ours has found any: read_foreign().
  std::string labels = "face";
};

/// The property of elements that read other detectors' faces.
template <typename S>
Setting labels_setting() {
  return text("labels", "Labels",
              "Types of other detectors' boxes that count as faces, separated by commas. Set it if "
              "a detector uses other names.",
              CUFACE_FIELD(S, labels));
}

class FaceElement : public Element {
 public:
  using Element::Element;
  Status process(Frame& frame) final;
  void reset(Reset why) final;

 protected:
  /// As Element's.
  virtual Status process_faces(Frame& frame) = 0;
  virtual void reset_faces(Reset) {}
  /// Whether the faces it delivers differ from those that come, on every frame.
  virtual bool changes_faces() const { return false; }
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
  bool wants_standard_metas() const;
  bool leaves_analytics() const;
  Status publish(Frame& frame, const FaceResult& faces);

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

}  // namespace cuface::gst
