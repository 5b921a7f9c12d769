#include "gst/faces/faceelement.h"

#include <utility>

#include "gst/faces/counters.h"
#include "gst/faces/standardmetas.h"
#include "gst/faces/warnings.h"

namespace cuface::gst {

Status FaceElement::process(Frame& frame) {
  if (GST_VIDEO_INFO_IS_INTERLACED(&frame.info()) && frame.is_head() &&
      !std::exchange(warned_interlaced_, true))
    warn_interlaced(element());
  before_ = frame.find<FaceList>();
  if (before_.positions == Positions::kUnknown && !std::exchange(warned_positions_, true))
    warn_positions_lost(element(), before_.moved_by ? *before_.moved_by : "");
  const Status status = process_faces(frame);
  before_ = {};  // nothing is kept past the frame
  return status;
}

FaceResult FaceElement::known_faces(const Frame& frame) const {
  if (before_.positions != Positions::kNone) return before_.result;
  return read_foreign_faces(frame.buffer(), frame.width(), frame.height());
}

void FaceElement::reset(Reset why) {
  first_seen_.clear();
  if (why == Reset::kStart)
    warned_interlaced_ = warned_positions_ = told_no_standard_metas_ = false;
  reset_faces(why);
}

/// Plain numbers make the streaming thread wait for a GPU, so `auto` has none where one works. How
/// far it is at the moment does not matter: two runs write the same.
bool FaceElement::wants_standard_metas() {
  const StandardMetas setting = face_settings().standard_metas;
  if (setting != StandardMetas::kAuto) return setting == StandardMetas::kAlways;
  if (backend() == Backend::kCpu) return true;
  if (!in_cuda_memory() && !std::exchange(told_no_standard_metas_, true)) {
    GST_DEBUG_CATEGORY_STATIC(category);
    GST_DEBUG_CATEGORY_GET(category, "cufacefilter");
    GST_CAT_INFO_OBJECT(category, element(),
                        "the GPU works on frames in system memory: standard-metas=auto writes no "
                        "GstVideoRegionOfInterestMeta; standard-metas=always does, and waits for "
                        "the GPU on each frame");
  }
  return false;
}

Status FaceElement::deliver_faces(Frame& frame, FaceResult faces) {
  if (const FaceList* list = faces.host()) frame.count(kFaces, list->faces.size());
  frame.add_result<FaceList>(faces);
  if (!wants_standard_metas()) return {};
  return publish_standard_metas(frame.buffer(), frame.info(), faces, first_seen_);
}

GType standard_metas_type() {
  static const GType type = enum_type(
      "GstCufaceStandardMetas",
      {{static_cast<int>(StandardMetas::kAuto), "Where the element works on the CPU", "auto"},
       {static_cast<int>(StandardMetas::kAlways),
        "On every frame; the element waits for a GPU that works for it", "always"},
       {static_cast<int>(StandardMetas::kNever), "Only gst-cuface's own meta", "never"}});
  return type;
}

}  // namespace cuface::gst
