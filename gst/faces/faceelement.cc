#include "gst/faces/faceelement.h"

#include <utility>

#include "gst/base/filter.h"
#include "gst/base/filterstate.h"
#include "gst/faces/counters.h"
#include "gst/faces/standardmetas.h"
#include "gst/faces/warnings.h"
#include "gst/meta/neighbour.h"
#include "gst/regions/analytics.h"
#include "kernels/common/try.h"

namespace cuface::gst {

Status FaceElement::process(Frame& frame) {
  if (GST_VIDEO_INFO_IS_INTERLACED(&frame.info()) && frame.is_first() &&
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
  return read_foreign_faces(frame.buffer(), frame.width(), frame.height(), face_settings().labels);
}

void FaceElement::reset(Reset why) {
  first_seen_.clear();
  if (why == Reset::kStart)
    warned_interlaced_ = warned_positions_ = told_no_standard_metas_ = false;
  reset_faces(why);
}

/// Plain numbers make the streaming thread wait for a GPU, so `auto` has none where one works. How
/// far it is at the moment does not matter: two runs write the same.
bool FaceElement::wants_standard_metas() const {
  const StandardMetas setting = face_settings().standard_metas;
  return setting == StandardMetas::kAlways ||
         (setting == StandardMetas::kAuto && backend() == Backend::kCpu);
}

/// To the face element that is linked right behind and makes other faces of these: what
/// GstAnalytics has of a face cannot be changed, and no element reads it in between.
bool FaceElement::leaves_analytics() const {
  const Ref<GstElement> next = neighbour(src_pad());
  if (!next || !GST_IS_CUFACE_FILTER(next.get())) return false;
  const FilterState& state = *GST_CUFACE_FILTER(next.get())->state;
  const auto* behind = dynamic_cast<const FaceElement*>(state.element.get());
  return behind && behind->changes_faces() && state.planned && behind->wants_standard_metas();
}

Status FaceElement::publish(Frame& frame, const FaceResult& faces) {
  CUFACE_TRY(publish_standard_metas(frame.buffer(), frame.info(), faces, first_seen_,
                                    kHaveAnalytics && !leaves_analytics()));
  if (!changes_faces() || before_.positions != Positions::kNone) return {};
  return give_ids_back(frame.buffer(), frame.info(), face_settings().labels, faces);
}

Status FaceElement::deliver_faces(Frame& frame, FaceResult faces) {
  if (const FaceList* list = faces.host()) frame.count(kFaces, list->faces.size());
  frame.add_result<FaceList>(faces);
  if (wants_standard_metas()) return publish(frame, faces);
  if (face_settings().standard_metas == StandardMetas::kAuto && !in_cuda_memory() &&
      !std::exchange(told_no_standard_metas_, true)) {
    GST_CAT_INFO_OBJECT(cuface_filter_debug, element(),
                        "the GPU works on frames in system memory: standard-metas=auto writes no "
                        "GstVideoRegionOfInterestMeta; standard-metas=always does, and waits for "
                        "the GPU on each frame");
  }
  return {};
}

}  // namespace cuface::gst
